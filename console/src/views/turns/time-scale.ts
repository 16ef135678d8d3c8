// Where times stand on the bar of a timeline, as parts of its width.

export interface Span {
  from: number;
  to: number;
}

export interface Place {
  /** Of the whole width, in percent. */
  start: number;
  width: number;
}

/** Where something that lasted from `from` to `to` stands; what has not ended reaches to the end. */
export function place(span: Span, from: number, to: number | null): Place {
  const whole = Math.max(span.to - span.from, 1);
  const percent = (at: number) => (Math.min(Math.max(at - span.from, 0), whole) / whole) * 100;
  const start = percent(from);
  return { start, width: Math.max(percent(to ?? span.to) - start, 0) };
}

export interface Tick {
  /** Milliseconds since the beginning. */
  at: number;
  percent: number;
}

/** About so many round times over a span of so many milliseconds. */
export function ticks(milliseconds: number, about: number): Tick[] {
  const whole = Math.max(milliseconds, 1);
  const step = roundStep(whole / Math.max(about, 1));
  return Array.from({ length: Math.floor(whole / step) + 1 }, (_, index) => ({
    at: index * step,
    percent: ((index * step) / whole) * 100,
  })).filter((tick) => tick.percent < 92);
}

/** The next of 1, 2, 5, 10, 20 … that is no smaller. */
function roundStep(wanted: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= wanted) ?? power * 10;
}
