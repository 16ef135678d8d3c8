const KNOWN = [
  { title: "Oranges", text: "Oranges ripen in winter." },
  { title: "Apples", text: "Apples keep longest in the cold." },
];

/** What is known of this word. */
export function Search(query: string) {
  const word = query.toLowerCase();
  return KNOWN.filter((entry) => entry.title.toLowerCase().includes(word));
}
