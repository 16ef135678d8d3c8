export function UniqueID(): string {
  return "7";
}
