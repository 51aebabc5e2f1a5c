/** Marks above the slider: breakpoints, edits, ops that differ, and bookmarks. */
import type { Mark } from "../../src/protocol/messages";
import { button, html, svg } from "../shared/dom";
import { t } from "../shared/l10n";

/** Pixels: of the strip, of half the slider's thumb, and of a mark's half. */
const HEIGHT = 12;
const THUMB = 8;
const HALF = 4;
/** Marks that have an element; of more, those nearest to now are of use. */
const MOST = 400;

export class Marks {
  readonly element = html("div", { class: "marks" });
  readonly buttons: HTMLElement;
  private readonly strip = svg("svg", { width: "100%", height: HEIGHT, role: "img" });
  private marks: readonly Mark[] = [];
  private commands = 1;
  private now = 0;

  /** `go`: to a moment. */
  constructor(private readonly go: (ordinal: number) => void) {
    this.element.append(this.strip);
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.element);
    const step = (text: string, by: 1 | -1, title: string) =>
      button(
        text,
        () => {
          this.step(by);
        },
        { title, "aria-label": title },
      );
    this.buttons = html("span", {}, step("◂", -1, t("Previous mark")), step("▸", 1, t("Next mark")));
  }

  show(marks: readonly Mark[], commands: number, now: number): void {
    this.marks = [...marks].sort((one, other) => one.ordinal - other.ordinal);
    this.commands = Math.max(commands, 1);
    this.now = now;
    this.draw();
  }

  /** To the next moment with a mark, or the one before. */
  private step(by: 1 | -1): void {
    const moments = this.marks.map(({ ordinal }) => ordinal);
    const found =
      by > 0
        ? moments.find((ordinal) => ordinal > this.now)
        : [...moments].reverse().find((ordinal) => ordinal < this.now);
    if (found !== undefined) this.go(found);
  }

  private draw(): void {
    const width = this.element.clientWidth - 2 * THUMB;
    const near = [...this.marks]
      .sort((one, other) => Math.abs(one.ordinal - this.now) - Math.abs(other.ordinal - this.now))
      .slice(0, MOST);
    this.strip.setAttribute("aria-label", t("{0} marks: breakpoints, edits, ops that differ, bookmarks", near.length));
    this.strip.replaceChildren(
      ...near.map(({ ordinal, kind, text }) => {
        const x = THUMB + (ordinal / this.commands) * width;
        const mark = svg(
          "path",
          { class: `mark ${kind}`, d: shape(kind, x) },
          svg("title", {}, `${kindName(kind)}: ${text} (${String(ordinal)})`),
        );
        mark.addEventListener("click", () => {
          this.go(ordinal);
        });
        return mark;
      }),
    );
  }
}

/** Different shapes, since colours alone do not reach everybody. */
function shape(kind: Mark["kind"], x: number): string {
  const [middle, left, right] = [HEIGHT / 2, x - HALF, x + HALF];
  switch (kind) {
    case "breakpoint":
      return `M${String(left)} ${String(middle)}a${String(HALF)} ${String(HALF)} 0 1 0 ${String(2 * HALF)} 0a${String(HALF)} ${String(HALF)} 0 1 0 -${String(2 * HALF)} 0z`;
    case "failing":
      return `M${String(left)} 2L${String(right)} ${String(HEIGHT - 2)}M${String(right)} 2L${String(left)} ${String(HEIGHT - 2)}`;
    case "edit":
      return `M${String(x)} 1L${String(right)} ${String(middle)}L${String(x)} ${String(HEIGHT - 1)}L${String(left)} ${String(middle)}z`;
    case "agent":
    case "bookmark":
      return `M${String(left + 1)} 0H${String(right - 1)}V${String(HEIGHT)}L${String(x)} ${String(HEIGHT - HALF)}L${String(left + 1)} ${String(HEIGHT)}z`;
  }
}

function kindName(kind: Mark["kind"]): string {
  switch (kind) {
    case "breakpoint":
      return t("breakpoint");
    case "failing":
      return t("differs");
    case "edit":
      return t("edit");
    case "bookmark":
      return t("bookmark");
    case "agent":
      return t("bookmark of the agent");
  }
}
