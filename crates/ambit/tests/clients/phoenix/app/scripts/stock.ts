/** How many lamps there are. */
export function Count() {
  return "12 lamps";
}
