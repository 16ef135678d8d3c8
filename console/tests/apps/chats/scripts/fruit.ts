/** What is known of this word. */
export function Search(query: string) {
  if (query === "") throw new Exception("query is empty", 400);
  return [{ title: query, text: `${query} ripen in winter.` }];
}
