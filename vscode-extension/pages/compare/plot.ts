/** The curve of errors over the ops, on a logarithmic scale. */
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { short } from "../tensor/colours";
import type { Compared, ErrorPoint } from "./model";

/** Pixels around the plot, for its axes. */
const MARGIN = { left: 44, right: 8, top: 8, bottom: 16 } as const;
const HEIGHT = 110;
/** The decades that are shown: errors below the first are drawn on it. */
const DECADES = { least: -8, most: 0, rules: [-8, -6, -4, -2, 0] } as const;
const RADIUS = 3;
/** From the axis to its numbers, and from a line down to their middle. */
const TEXT = { left: 6, down: 4 } as const;

export class Plot<Tensor extends Compared> {
  readonly element = html("div", { class: "plot" });
  private points: readonly ErrorPoint<Tensor>[] = [];
  private isCulprit: (row: Tensor) => boolean = () => false;
  private selected: Tensor | undefined;

  /** `caption`: what is drawn over what. */
  constructor(
    private readonly caption: string,
    private readonly choose: (row: Tensor) => void,
  ) {
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.element);
  }

  /** `isCulprit`: whether an op is at fault by itself. */
  show(points: readonly ErrorPoint<Tensor>[], isCulprit: (row: Tensor) => boolean): void {
    this.points = points;
    this.isCulprit = isCulprit;
    this.draw();
  }

  select(row: Tensor): void {
    this.selected = row;
    this.draw();
  }

  private draw(): void {
    const width = Math.max(this.element.clientWidth - MARGIN.left - MARGIN.right, 1);
    const x = (index: number) => MARGIN.left + ((index + 0.5) / Math.max(this.points.length, 1)) * width;
    const y = (error: number) => {
      const decade = Math.min(Math.max(error > 0 ? Math.log10(error) : DECADES.least, DECADES.least), DECADES.most);
      return MARGIN.top + ((DECADES.most - decade) / (DECADES.most - DECADES.least)) * HEIGHT;
    };
    const rules: SVGElement[] = [];
    for (const decade of DECADES.rules) {
      const at = y(10 ** decade);
      rules.push(
        svg("line", { class: "rule", x1: MARGIN.left, x2: MARGIN.left + width, y1: at, y2: at }),
        svg(
          "text",
          { class: "faint", x: MARGIN.left - TEXT.left, y: at + TEXT.down, "text-anchor": "end" },
          `1e${String(decade)}`,
        ),
      );
    }
    const line = this.points.map(({ error }, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(1)} ${y(error).toFixed(1)}`);
    const marks = this.points.flatMap(({ row, error }, i) => {
      const isCulprit = this.isCulprit(row);
      const isMarked = isCulprit || row === this.selected;
      if (row.verdict !== "fail" && !isMarked) return [];
      const names = [row.verdict, isCulprit && "culprit", row === this.selected && "selected"];
      return [
        svg(
          "circle",
          {
            class: names.filter(Boolean).join(" "),
            cx: x(i),
            cy: y(error),
            r: isMarked ? RADIUS + 1 : RADIUS,
          },
          svg("title", {}, `${row.name}: ${short(error)}`),
        ),
      ];
    });
    const picture = svg(
      "svg",
      {
        width: MARGIN.left + width + MARGIN.right,
        height: MARGIN.top + HEIGHT + MARGIN.bottom,
        role: "img",
        "aria-label": t("{0}; the table has the same numbers", this.caption),
      },
      ...rules,
      svg("path", { class: "curve", d: line.join("") }),
      ...marks,
      svg("text", { class: "faint", x: MARGIN.left, y: MARGIN.top + HEIGHT + MARGIN.bottom - TEXT.down }, this.caption),
    );
    picture.addEventListener("click", ({ offsetX }) => {
      const index = Math.floor(((offsetX - MARGIN.left) / width) * this.points.length);
      const point = this.points[Math.min(Math.max(index, 0), this.points.length - 1)];
      if (point !== undefined) this.choose(point.row);
    });
    this.element.replaceChildren(picture);
  }
}
