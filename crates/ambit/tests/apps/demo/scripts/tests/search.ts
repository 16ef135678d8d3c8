// @ts-nocheck
export function WebSearch(query: string) {
  return { items: [{ title: query, url: "https://example.com" }] };
}

function GetConfig() {
  return { max: 5 };
}
