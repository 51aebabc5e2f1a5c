/** The histogram, with a brush that chooses the range of the colours. */
import type { TensorStatistics } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { short, type Range } from "./colours";

/** Pixels, as in tensor.css. */
const SIZE = { width: 220, height: 56 } as const;
/** A brush that is narrower was a click, which takes the range back. */
const LEAST = 4;
const OPACITY = 0.3;

export class Histogram {
  readonly element: HTMLElement;
  private readonly canvas = html("canvas", { ...SIZE, role: "img", class: "histogram" });
  private readonly ends = html("p", { class: "ends" });
  private found: TensorStatistics | undefined;
  private brush: readonly [number, number] | undefined;

  constructor(private readonly brushed: (range: Range | undefined) => void) {
    this.canvas.title = t("Drag to choose the range of the colours, click for all");
    this.element = html("div", {}, this.canvas, this.ends);
    let start: number | undefined;
    this.canvas.addEventListener("pointerdown", (event) => {
      start = event.offsetX;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", ({ offsetX, buttons }) => {
      if (start === undefined || buttons !== 1) return;
      this.brush = inside(start, offsetX);
      this.paint();
    });
    this.canvas.addEventListener("pointerup", ({ offsetX }) => {
      if (start === undefined) return;
      const [from, to] = inside(start, offsetX);
      start = undefined;
      this.brush = to - from < LEAST ? undefined : [from, to];
      this.paint();
      this.brushed(this.range);
    });
  }

  draw(found: TensorStatistics): void {
    this.found = found;
    this.ends.replaceChildren(html("span", {}, short(found.minimum)), html("span", {}, short(found.maximum)));
    this.canvas.setAttribute(
      "aria-label",
      t(
        "Histogram from {0} to {1}, most in an interval: {2}",
        short(found.minimum),
        short(found.maximum),
        Math.max(0, ...found.histogram),
      ),
    );
    this.paint();
  }

  /** The numbers between the ends of the brush. */
  private get range(): Range | undefined {
    const { found, brush } = this;
    if (brush === undefined || found?.minimum == null || found.maximum == null) return undefined;
    const { minimum, maximum } = found;
    const at = (x: number) => Number((minimum + (x / SIZE.width) * (maximum - minimum)).toPrecision(5));
    return { low: at(brush[0]), high: at(brush[1]) };
  }

  /** Bars on a logarithmic scale: the rare numbers are the ones that matter. */
  private paint(): void {
    const context = this.canvas.getContext("2d");
    const { found, brush } = this;
    if (context === null || found === undefined) return;
    const { width, height } = SIZE;
    context.clearRect(0, 0, width, height);
    context.fillStyle = getComputedStyle(this.canvas).color;
    const most = Math.log1p(Math.max(1, ...found.histogram));
    found.histogram.forEach((count, i) => {
      const bar = (height * Math.log1p(count)) / most;
      context.fillRect((i * width) / found.histogram.length, height - bar, width / found.histogram.length - 1, bar);
    });
    if (brush === undefined) return;
    context.globalAlpha = OPACITY;
    context.fillRect(brush[0], 0, brush[1] - brush[0], height);
    context.globalAlpha = 1;
  }
}

function inside(one: number, other: number): [number, number] {
  const [from, to] = [Math.min(one, other), Math.max(one, other)];
  return [Math.max(from, 0), Math.min(to, SIZE.width)];
}
