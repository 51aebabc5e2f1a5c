/** Marks above the slider: breakpoints, edits, ops that differ, and bookmarks. */
import type { Mark } from "../../src/protocol/messages";
import { button, html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { clusters, type Cluster } from "./clusters";

/** Pixels: of the strip, of half the slider's thumb, of half a mark, and of half the first op that differs. */
const HEIGHT = 16;
const THUMB = 8;
const HALF = 4;
const LARGE = 7;
/** Marks of a cluster that its hover names. */
const NAMED = 8;

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
    const xOf = (ordinal: number) => THUMB + (ordinal / this.commands) * width;
    const label = t("{0} marks: breakpoints, edits, ops that differ, bookmarks", this.marks.length);
    this.strip.setAttribute("aria-label", label);
    const first = this.marks.find(({ kind }) => kind === "failing");
    // The first that differs is on top of all others.
    const groups = clusters(this.marks, ({ ordinal }) => xOf(ordinal), 2 * HALF).sort(
      (one, other) => Number(one.marks[0] === first) - Number(other.marks[0] === first),
    );
    this.strip.replaceChildren(...groups.map((cluster) => this.mark(cluster, cluster.marks[0] === first)));
  }

  private mark({ x, marks: [first, ...others] }: Cluster, isLarge: boolean): SVGElement {
    const { ordinal, kind } = first;
    const texts = [first, ...others].slice(0, NAMED).map((mark) => `${mark.text} (${String(mark.ordinal)})`);
    const more = 1 + others.length - texts.length;
    const title = [kindName(kind), ...texts, ...(more > 0 ? [t("{0} more", more)] : [])];
    const mark = svg(
      "path",
      { class: `mark ${kind}${isLarge ? " large" : ""}`, d: shape(kind, x, isLarge ? LARGE : HALF) },
      svg("title", {}, texts.length > 1 ? title.join("\n") : title.join(": ")),
    );
    mark.addEventListener("click", () => {
      this.go(ordinal);
    });
    return mark;
  }
}

/** Different shapes, since colours alone do not reach everybody; `half`: of their width. */
function shape(kind: Mark["kind"], x: number, half: number): string {
  const middle = HEIGHT / 2;
  const at = (right: number, down: number) => `${String(x + right * half)} ${String(middle + down * half)}`;
  switch (kind) {
    case "breakpoint": {
      const arc = `a${String(half)} ${String(half)} 0 1 0`;
      return `M${at(-1, 0)}${arc} ${String(2 * half)} 0${arc} -${String(2 * half)} 0z`;
    }
    case "failing":
      return `M${at(-1, -1)}L${at(1, 1)}M${at(1, -1)}L${at(-1, 1)}`;
    case "edit":
      return `M${at(0, -1)}L${at(1, 0)}L${at(0, 1)}L${at(-1, 0)}z`;
    case "agent":
    case "bookmark":
      return `M${at(-1, -1)}L${at(1, -1)}L${at(1, 1)}L${at(0, 0.5)}L${at(-1, 1)}z`;
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
