export function install() { return {}; }
