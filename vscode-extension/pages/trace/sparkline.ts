/** The values of an expression over the run, as a line; dragging over it selects rows. */
import { button, html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { short } from "../tensor/colours";
import { brushed, envelope, extentOf, outline, type Brush } from "./model";

/** Pixels. */
const HEIGHT = 32;
const PADDING = 3;

export class Sparkline {
  readonly element: HTMLElement;
  private readonly picture = svg("svg", { class: "sparkline", height: HEIGHT + 2 * PADDING });
  private brush: Brush | undefined;
  /** Rows that the program has passed. */
  private passed = 0;
  private start: number | undefined;

  constructor(
    expression: string,
    private readonly values: readonly (number | null)[],
    private readonly on: {
      readonly brushed: (brush: Brush | undefined) => void;
      readonly limited: (limit: number) => void;
    },
  ) {
    const extent = extentOf(values);
    const range = extent === undefined ? t("no numbers") : t("{0} to {1}", short(extent.low), short(extent.high));
    this.picture.setAttribute("role", "img");
    this.picture.setAttribute("aria-label", `${expression}: ${range}`);
    const limit = html("input", {
      type: "number",
      step: "any",
      required: true,
      "aria-label": t("Stop where {0} first exceeds", expression),
    });
    this.element = html(
      "section",
      { class: "expression" },
      html(
        "div",
        { class: "bar" },
        html("code", { title: expression }, expression),
        html("span", { class: "status" }, range),
        html("span", { class: "fill" }),
        html(
          "form",
          {
            class: "bar limit",
            submit: (event: Event) => {
              event.preventDefault();
              on.limited(limit.valueAsNumber);
            },
          },
          html("span", {}, t("stop where this first exceeds")),
          limit,
          html("button", { type: "submit", disabled: extent === undefined }, t("Set Breakpoint")),
        ),
      ),
      this.picture,
    );
    this.listen();
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.element);
  }

  show(brush: Brush | undefined, passed: number): void {
    this.brush = brush;
    this.passed = passed;
    this.draw();
  }

  private get width(): number {
    return Math.max(this.element.clientWidth, 1);
  }

  private listen(): void {
    const x = ({ clientX }: PointerEvent) => clientX - this.picture.getBoundingClientRect().left;
    this.picture.addEventListener("pointerdown", (event) => {
      this.picture.setPointerCapture(event.pointerId);
      this.start = x(event);
    });
    this.picture.addEventListener("pointermove", (event) => {
      if (this.start === undefined) return;
      this.brush = brushed(this.start, x(event), this.width, this.values.length);
      this.draw();
    });
    this.picture.addEventListener("pointerup", (event) => {
      if (this.start === undefined) return;
      const brush = brushed(this.start, x(event), this.width, this.values.length);
      this.start = undefined;
      this.on.brushed(brush);
    });
    this.picture.addEventListener("pointercancel", () => {
      this.start = undefined;
    });
  }

  private draw(): void {
    const { width } = this;
    const at = (row: number) => (row / Math.max(this.values.length, 1)) * width;
    const high = HEIGHT + 2 * PADDING;
    const band = (name: string, first: number, last: number) =>
      svg("rect", { class: name, x: at(first), width: Math.max(at(last) - at(first), 0), y: 0, height: high });
    const line = svg("path", { d: outline(envelope(this.values, width), width, HEIGHT) });
    line.setAttribute("transform", `translate(0 ${String(PADDING)})`);
    this.picture.setAttribute("width", String(width));
    this.picture.replaceChildren(
      band("ahead", this.passed, this.values.length),
      ...(this.brush === undefined ? [] : [band("brush", this.brush.first, this.brush.last + 1)]),
      line,
      svg("line", { class: "now", x1: at(this.passed), x2: at(this.passed), y1: 0, y2: high }),
    );
  }
}

/** A button that takes the brush away. */
export function clearing(clear: () => void): HTMLButtonElement {
  return button(t("All Rows"), clear, { title: t("Show all rows again, not only those selected above") });
}
