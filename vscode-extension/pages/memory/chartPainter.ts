/** Makes the elements of the chart: rectangles of tensors, axes, folds, the present moment. */
import type { Memory, Resident } from "../../src/protocol/generated";
import { svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { bytes, count, elided, hex } from "../shared/text";
import { ticks, type Span } from "../shared/ticks";
import type { Fold } from "./fold";
import { colourOf } from "./model";
import type { UsePoint } from "./usage";
import { usageElements, USAGE_HEIGHT } from "./usageStrip";

/** Pixels around the plot, for its axes. */
export const MARGIN = { left: 92, right: 56, top: USAGE_HEIGHT + 8, bottom: 32 } as const;
/** Classes of colours in memory.css. */
const COLOURS = 6;
/** So that a tensor of a few bytes can be seen and clicked, above all one that is there now. */
const LEAST_PIXELS = 3;
const LEAST_ALIVE_PIXELS = 8;
/** A letter's width and a line's height. */
const LETTER_PIXELS = 6.5;
const LINE_PIXELS = 13;
/** From the middle of a letter down to its base line. */
const BASE_PIXELS = 4;
/** From the edge of a rectangle to the text in it, and from an axis to the text beside it. */
const INSET_PIXELS = 3;
const AXIS_TEXT_PIXELS = 6;
/** From the lower edge of the plot to the numbers below it, and to what they count. */
const NUMBERS_BELOW_PIXELS = 13;
const TITLE_BELOW_PIXELS = 28;
/** Between the marks of the axes, about. */
const BYTE_MARK_PIXELS = 60;
const COMMAND_MARK_PIXELS = 90;
/** Of a name that is cut off: fewer tell nothing. */
const LEAST_LETTERS = 8;

/** The horizontal axis: all moments of a lane, or all lanes of this moment. */
export type Over = "commands" | "lanes";

/** What is drawn. */
export interface Scene {
  readonly memory: Memory;
  readonly over: Over;
  /** The visible commands or lanes, and places on the axis of bytes, which has folds. */
  readonly columns: Span;
  readonly rows: Span;
  readonly fold: Fold;
  /** Bytes of a bank; 0 for none. */
  readonly bank: number;
  readonly now: number;
  /** The tensors' names as short as they can be told apart. */
  readonly labels: ReadonlyMap<string, string>;
  readonly selected: Resident | undefined;
  readonly usage: readonly UsePoint[];
  /** Pixels of the plot. */
  readonly width: number;
  readonly height: number;
}

/** Whether a text at a height is at least `least` away from the last one that had room. */
function spaced(least: number): (y: number) => boolean {
  let last = Infinity;
  return (y) => {
    if (Math.abs(y - last) < least) return false;
    last = y;
    return true;
  };
}

export class ChartPainter {
  constructor(
    private readonly scene: Scene,
    private readonly select: (resident: Resident) => void,
  ) {}

  elements(): SVGElement[] {
    const { memory, over, usage, width, height } = this.scene;
    const [right, bottom] = [MARGIN.left + width, MARGIN.top + height];
    return [
      svg("clipPath", { id: "inside" }, svg("rect", { x: MARGIN.left, y: MARGIN.top, width: width, height: height })),
      ...(over === "commands" ? usageElements(usage, (command) => this.x(command), [MARGIN.left, right]) : []),
      ...this.byteAxis(right),
      ...this.commandAxis(bottom),
      svg("g", { "clip-path": "url(#inside)" }, ...this.visible(memory).map((resident) => this.rectangle(resident))),
      ...this.present(bottom),
    ];
  }

  private x(command: number): number {
    return MARGIN.left + ((command - this.scene.columns.from) / this.scene.columns.length) * this.scene.width;
  }

  private y(byte: number): number {
    return (
      MARGIN.top +
      this.scene.height -
      ((this.scene.fold.place(byte) - this.scene.rows.from) / this.scene.rows.length) * this.scene.height
    );
  }

  private visible({ residents }: Memory): Resident[] {
    const { columns, rows } = this.scene;
    const seen = residents.filter(
      (resident) =>
        this.scene.fold.place(resident.start) < rows.to &&
        this.scene.fold.place(resident.stop) > rows.from &&
        this.spans(resident).some(([from, to]) => from < columns.to && to > columns.from),
    );
    // What is there now lies over its neighbours.
    return seen.sort((one, other) => Number(this.isAlive(one)) - Number(this.isAlive(other)));
  }

  /** Positions of a tensor on the horizontal axis. */
  private spans(resident: Resident): readonly (readonly [number, number])[] {
    if (this.scene.over === "commands") return [[resident.born, resident.died + 1]];
    return this.isAlive(resident) ? resident.lanes : [];
  }

  private isAlive({ born, died }: Resident): boolean {
    return born <= this.scene.now && this.scene.now <= died;
  }

  private rectangle(resident: Resident): SVGElement {
    const { name, start, stop, born } = resident;
    const least = this.isAlive(resident) ? LEAST_ALIVE_PIXELS : LEAST_PIXELS;
    const spans = this.spans(resident).map(([from, to]) => ({
      left: this.x(from),
      width: Math.max(this.x(to) - this.x(from), least),
    }));
    const { left, width } = spans[0] ?? { left: 0, width: 0 };
    const height = Math.max(this.y(start) - this.y(stop), least);
    const top = this.y(start) - height;
    const classes = [
      "resident",
      `colour${String(colourOf(name, COLOURS))}`,
      this.isAlive(resident) && "alive",
      born === this.scene.now && "coming",
      resident === this.scene.selected && "selected",
    ];
    const visibleLeft = Math.max(left, MARGIN.left);
    const room = Math.min(left + width, MARGIN.left + this.scene.width) - visibleLeft;
    const letters = Math.floor((room - 2 * INSET_PIXELS) / LETTER_PIXELS);
    const text = letters < name.length ? elided(this.scene.labels.get(name) ?? name, letters) : name;
    const label =
      height >= LINE_PIXELS && letters >= Math.min(LEAST_LETTERS, name.length)
        ? svg("text", { x: visibleLeft + INSET_PIXELS, y: top + height / 2 + BASE_PIXELS }, text)
        : undefined;
    return svg(
      "g",
      {
        class: classes.filter(Boolean).join(" "),
        "data-name": name,
        "data-index": this.scene.memory.residents.indexOf(resident),
        click: () => {
          this.select(resident);
        },
      },
      ...spans.map((span) => svg("rect", { x: span.left, y: top, width: span.width, height })),
      label,
    );
  }

  /** Ticks of bytes, and in local memory the banks. */
  private byteAxis(right: number): SVGElement[] {
    const made: SVGElement[] = [];
    const [first, last] = [this.scene.fold.byteAt(this.scene.rows.from), this.scene.fold.byteAt(this.scene.rows.to)];
    const places = this.scene.bank
      ? this.banks(first, last)
      : ticks(first, last, this.scene.height / BYTE_MARK_PIXELS, 1);
    const hasRoom = { byte: spaced(LINE_PIXELS), bank: spaced(LINE_PIXELS) };
    made.push(...this.folds(right));
    for (const byte of places) {
      if (this.scene.fold.hides(byte)) continue;
      const y = this.y(byte);
      if (y < MARGIN.top - 1 || y > MARGIN.top + this.scene.height + 1) continue;
      made.push(svg("line", { class: "rule", x1: MARGIN.left, x2: right, y1: y, y2: y }));
      if (hasRoom.byte(y))
        made.push(
          svg(
            "text",
            { class: "faint", x: MARGIN.left - AXIS_TEXT_PIXELS, y: y + BASE_PIXELS, "text-anchor": "end" },
            this.scene.bank ? bytes(byte) : hex(byte),
          ),
        );
      const middle = (y + this.y(byte + this.scene.bank)) / 2;
      const isFolded = this.scene.fold.gaps.some(({ start, stop }) => start <= byte && byte + this.scene.bank <= stop);
      if (this.scene.bank && middle > MARGIN.top && !isFolded && hasRoom.bank(middle))
        made.push(
          svg(
            "text",
            { class: "faint bank", x: right + AXIS_TEXT_PIXELS, y: middle + BASE_PIXELS },
            t("bank {0}", byte / this.scene.bank),
          ),
        );
    }
    return made;
  }

  private banks(first: number, last: number): number[] {
    const found: number[] = [];
    for (let bank = Math.ceil(first / this.scene.bank); bank * this.scene.bank < last; bank++)
      found.push(bank * this.scene.bank);
    return found;
  }

  /** What is folded: a band with how much it is. */
  private folds(right: number): SVGElement[] {
    return this.scene.fold.gaps.flatMap(({ start, stop }) => {
      const [low, high] = [this.y(start), this.y(stop)];
      if (high > MARGIN.top + this.scene.height || low < MARGIN.top) return [];
      const text = t("{0} never used", bytes(stop - start));
      const middle = (low + high) / 2 + BASE_PIXELS;
      return [
        svg("rect", { class: "fold", x: MARGIN.left, y: high, width: right - MARGIN.left, height: low - high }),
        ...(low - high >= LINE_PIXELS - 2
          ? [svg("text", { class: "faint", x: MARGIN.left + AXIS_TEXT_PIXELS, y: middle }, text)]
          : [svg("title", {}, text)]),
      ];
    });
  }

  private commandAxis(bottom: number): SVGElement[] {
    const marks = ticks(this.scene.columns.from, this.scene.columns.to, this.scene.width / COMMAND_MARK_PIXELS, 1).map(
      (command) =>
        svg(
          "text",
          { class: "faint", x: this.x(command), y: bottom + NUMBERS_BELOW_PIXELS, "text-anchor": "middle" },
          count(command),
        ),
    );
    return [
      ...marks,
      svg(
        "text",
        {
          class: "faint",
          x: MARGIN.left + this.scene.width / 2,
          y: bottom + TITLE_BELOW_PIXELS,
          "text-anchor": "middle",
        },
        this.scene.over === "commands" ? t("commands executed") : t("lanes"),
      ),
    ];
  }

  private present(bottom: number): SVGElement[] {
    const x = this.x(this.scene.now);
    if (this.scene.over === "lanes" || x < MARGIN.left - 1 || x > MARGIN.left + this.scene.width + 1) return [];
    return [svg("line", { class: "now", "data-ordinal": this.scene.now, x1: x, x2: x, y1: 0, y2: bottom })];
  }
}
