// A time of day to the millisecond: what is minutes ago is told apart by less than seconds.

/** "09:14:03.120", in the browser's zone. */
export function clock(milliseconds: number): string {
  const format = { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" } as const;
  return new Intl.DateTimeFormat("en-GB", format).format(milliseconds);
}
