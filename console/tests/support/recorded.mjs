// Recorded answers of the contract's form, where the server has nothing to show or is to fail.

/**
 * Opens `#/…` with these answers, by operation: `{ "GET /keys": { items: [] } }`, where `*` stands for one part of a path. An answer is a
 * body, or a function of the request that gives `{ status, body, type }`. They come to a caller with the session's grants, unless `grants`
 * names others. `requests` of the answer lists what was asked of them.
 */
export async function openRecorded(ambit, hash, answers, { grants, watch = async () => {}, ...options } = {}) {
  const granted = grants ?? ambit.session.grants;
  const known = Object.entries({ "GET /session": { ...ambit.session, grants: granted }, ...answers });
  const requests = [];
  const answer = async (route) => {
    const request = route.request();
    const path = new URL(request.url()).pathname.replace(/^\/v1/, "");
    const found = known.find(([operation]) => matches(operation, request.method(), path));
    if (!found) return route.continue();
    const query = new URL(request.url()).searchParams;
    const asked = { method: request.method(), path, query, headers: request.headers(), body: request.postDataJSON?.() ?? null };
    requests.push(asked);
    const { status = 200, body, type } = typeof found[1] === "function" ? found[1](asked) : { body: found[1] };
    const text = typeof body === "string" ? body : JSON.stringify(body ?? null);
    await route.fulfill({ status, contentType: type ?? "application/json", body: status === 204 ? "" : text });
  };
  const isAnswered = (url) => url.pathname.startsWith("/v1/") || url.pathname === "/metrics";
  const prepare = async (page) => (await watch(page), await page.route(isAnswered, answer));
  return { ...(await ambit.open(hash, { ...options, prepare })), requests };
}

/** Lets a page believe that no more than this is granted; what the server refuses is `access.test.mjs`'s concern. */
export function granting(ambit, grants) {
  return (page) => page.route("**/v1/session", (route) => route.fulfill({ json: { ...ambit.session, grants } }));
}

function matches(operation, method, path) {
  const [known, pattern] = operation.split(" ");
  const parts = pattern.split("/");
  const given = path.split("/");
  return known === method && parts.length === given.length && parts.every((part, at) => part === "*" || part === given[at]);
}

/** Names that would run, load or turn something if a page took them for more than text. */
export const HOSTILE = "\u202e<img src=https://example.org/x onerror=\"document.title='run'\"><script>document.title='run'</script>";

/** Fails if a hostile name became more than text. */
export async function assertText(page, part) {
  const shown = page.locator(`[data-part="${part}"]`).first();
  await shown.filter({ hasText: "\\u202e<img" }).waitFor({ state: "attached" });
  const found = await shown.locator("img, script, [onerror]").count();
  if (found > 0 || /run/.test(await page.title())) throw new Error(`a name is more than text in ${part}`);
}
