// Stacked bars, drawn by uPlot. It is loaded when there is something to draw.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Bars {
  buckets: readonly string[];
  /** The largest first, with a number for each bucket. */
  series: readonly { amounts: readonly number[] }[];
  colours: readonly string[];
  text: string;
  line: string;
  format: (value: number) => string;
  /** The pointer is over a bucket, or over none. */
  onPoint: (at: number | null) => void;
  /** A range of buckets was dragged over. */
  onRange: (from: number, to: number) => void;
}

const HEIGHT = 220;
const AXIS = 64;

/** Draws into an element, as wide as that is; the answer takes the plot away. */
export function drawBars(element: HTMLElement, bars: Bars): () => void {
  const plot = new uPlot(options(bars, element.clientWidth), data(bars), element);
  const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  resized.observe(element);
  return () => {
    resized.disconnect();
    plot.destroy();
  };
}

/** Each series is drawn with what lies below it, the topmost first, so that the others cover what is not its own. */
function data({ buckets, series }: Bars): uPlot.AlignedData {
  const sums = buckets.map(() => 0);
  const stacked = series.map(({ amounts }) => amounts.map((amount, at) => (sums[at] = (sums[at] ?? 0) + amount)));
  return [buckets.map((_, at) => at), ...stacked.reverse()];
}

function options(bars: Bars, width: number): uPlot.Options {
  const last = bars.buckets.length - 1;
  const at = (plot: uPlot, left: number) => Math.min(Math.max(Math.round(plot.posToVal(left, "x")), 0), last);
  const axis = { stroke: bars.text, grid: { stroke: bars.line, width: 1 }, ticks: { stroke: bars.line, width: 1 } };
  const paths = uPlot.paths.bars?.({ size: [0.8, 60] });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: false, range: [-0.6, last + 0.6] }, y: { range: (_plot, _min, max) => [0, Math.max(max, 1e-6) * 1.05] } },
    axes: [
      { ...axis, grid: { show: false }, incrs: [1, 2, 3, 5, 7, 10, 14, 30, 60, 90, 180, 365], space: 90, values: (_plot, places) => places.map((place) => bars.buckets[place] ?? "") },
      { ...axis, size: AXIS, values: (_plot, values) => values.map(bars.format) },
    ],
    series: [{}, ...bars.series.map((_, place) => ({ fill: bars.colours[bars.series.length - 1 - place] ?? bars.text, width: 0, points: { show: false }, ...(paths && { paths }) }))],
    hooks: {
      setCursor: [(plot) => bars.onPoint(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width: selected } = plot.select;
          if (selected > 0) bars.onRange(at(plot, left), at(plot, left + selected));
        },
      ],
    },
  };
}
