const LAMPS = [
  { sku: "L-104", name: "Alma", kind: "reading", material: "oak", height_cm: 148, price: 189, stock: 7 },
  { sku: "L-107", name: "Alma mini", kind: "reading", material: "oak", height_cm: 52, price: 129, stock: 3 },
  { sku: "L-210", name: "Nova", kind: "pendant", material: "brass", height_cm: 30, price: 240, stock: 0 },
  { sku: "L-318", name: "Fjord", kind: "table", material: "glass", height_cm: 41, price: 95, stock: 12 },
];

/** Lamps of a kind, of a material if one is wanted. */
export function Find(kind: string, material?: string) {
  return LAMPS.filter((lamp) => lamp.kind === kind && (!material || lamp.material === material));
}
