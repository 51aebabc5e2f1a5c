/** Pictures of errors: a map of them, and a histogram. */
import { html, svg } from "../shared/dom";
import { paint, PALETTES } from "../tensor/colours";
import { powerOf } from "./model";

/** Pixels of a side of a block of the map, and what all of them may take. */
const BLOCK = 9;
const MOST = { width: 460, height: 240 } as const;
/** Powers of ten of the errors at the ends of the colours. */
const RANGE = { low: -6, high: 0 } as const;
/** Pixels of the histogram. */
const BAR = { width: 22, step: 28, height: 90, text: 14 } as const;
const BINS = ["0", ...Array.from({ length: 9 }, (_, i) => `1e${String(i - 8)}`), ">1"];

/** `rows`: of letters, as in `ErrorPicture`. */
export function heatMap(rows: readonly string[], caption: string): HTMLElement {
  const columns = Math.max(...rows.map((row) => row.length), 1);
  const canvas = html("canvas", {
    width: columns,
    height: Math.max(rows.length, 1),
    role: "img",
    "aria-label": caption,
  });
  const side = Math.min(BLOCK, MOST.width / columns, MOST.height / rows.length);
  canvas.style.width = `${String(side * columns)}px`;
  canvas.style.height = `${String(side * rows.length)}px`;
  const powers = rows.flatMap((row) => Array.from(row.padEnd(columns, "."), powerOf));
  // No error is as dark as a small one.
  const numbers = powers.map((power) => (power === -Infinity ? RANGE.low : power));
  const context = canvas.getContext("2d");
  if (rows.length > 0)
    context?.putImageData(new ImageData(paint(numbers, RANGE, PALETTES.viridis, false), columns), 0, 0);
  canvas.addEventListener("mousemove", ({ offsetX, offsetY }) => {
    const power = powers[Math.floor(offsetY / side) * columns + Math.floor(offsetX / side)];
    canvas.title = power === undefined ? "" : (10 ** power).toPrecision(2);
  });
  return html("figure", {}, canvas, html("figcaption", {}, caption));
}

/** Numbers of elements by their relative error. */
export function histogram(counts: readonly number[]): HTMLElement {
  const caption = "Elements by relative error (up to)";
  const most = Math.max(...counts, 1);
  const bars = counts.map((count, i) => {
    const height = count > 0 ? Math.max(Math.round((BAR.height * count) / most), 1) : 0;
    const x = BAR.step * i;
    return svg(
      "g",
      {},
      svg("title", {}, `${BINS[i] ?? ""}: ${String(count)}`),
      svg("rect", { class: "bar", x, y: BAR.height - height, width: BAR.width, height }),
      svg("text", { x: x + BAR.width / 2, y: BAR.height + BAR.text, "text-anchor": "middle" }, BINS[i]),
    );
  });
  const size = { width: BAR.step * counts.length, height: BAR.height + BAR.text + 2 };
  return html(
    "figure",
    {},
    svg("svg", { ...size, class: "histogram", role: "img", "aria-label": caption }, ...bars),
    html("figcaption", {}, caption),
  );
}
