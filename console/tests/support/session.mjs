// What a developer's `GET /v1/session` answers, for servers that do not have that route.

export async function developerSession(server) {
  const document = await (await fetch(new URL("/openapi.json", server.api))).json();
  const base = new URL(server.api).pathname;
  const grants = Object.entries(document.paths).flatMap(([path, methods]) => {
    const below = path.startsWith(base) ? path.slice(base.length) : path;
    const operation = below.replace(/\{(\w+)\}/g, ":$1");
    return Object.keys(methods).map((method) => `${method.toUpperCase()} ${operation}`);
  });
  return {
    mode: "dev", user_id: "dev", team_id: null, tenant_id: null, client_id: null, roles: [], scope: null, constraints: null,
    acted_by: null, expires_at: null, grants, logout_url: null,
  };
}
