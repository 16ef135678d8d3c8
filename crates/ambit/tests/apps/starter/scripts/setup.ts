import { log, Process } from "@yao/runtime";

const ROOT = { email: "root@example.com", role_id: "system:root" };

/** Fills the tables once. */
function Init(force: boolean = false) {
  if (!force && IsInstalled()) {
    return { status: "skipped" };
  }
  const result = Process("seeds.import", "roles.csv", "__yao.role", { duplicate: "ignore" });
  log.Info(`Roles: %v`, result);
  return { status: "success" };
}

function IsInstalled(): boolean {
  try {
    return Process("models.__yao.role.Get", { limit: 1 }).length > 0;
  } catch (e) {
    return false;
  }
}
