/** The chart: commands or lanes from left to right, bytes from the bottom up, rectangles for each tensor. */
import type { Memory, Resident } from "../../src/protocol/generated";
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { bytes, count, hex } from "../shared/text";
import { Span, ticks } from "../shared/ticks";
import { KEY_ZOOM, WHEEL_ZOOM } from "../shared/zoom";
import { Card } from "./card";
import { Fold } from "./fold";
import { colourOf, extent } from "./model";
import { usageOf, type UsePoint } from "./usage";
import { usageElements, USAGE_HEIGHT } from "./usageStrip";

/** Pixels around the plot, for its axes. */
const MARGIN = { left: 92, right: 56, top: USAGE_HEIGHT + 8, bottom: 32 };
/** Classes of colours in memory.css. */
const COLOURS = 6;
/** So that a tensor of a few bytes can be seen and clicked. */
const LEAST_PIXELS = 3;
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
/** Of a name that is cut off. */
const LEAST_LETTERS = 4;
/** The plot is never smaller, however small its page. */
const LEAST_PLOT_PIXELS = 10;
/** The shortest visible parts: commands or lanes, and bytes. */
const LEAST_COLUMNS = 4;
/** Commands that are visible at first. */
const FIRST_COLUMNS = 400;
const LEAST_BYTES = 64;

/** The horizontal axis: all moments of a lane, or all lanes of this moment. */
export type Over = "commands" | "lanes";

export class Chart {
  readonly element = html("div", { class: "chart" });
  private readonly picture = svg("svg", { role: "application", tabindex: 0 });
  private columns = new Span(0, 1, 1);
  private rows = new Span(0, 1, 1);
  private memory: Memory | undefined;
  private bank = 0;
  private over: Over = "commands";
  private now = 0;
  private selected: Resident | undefined;
  private fold = new Fold(0, 1);
  private isFolded = true;
  private usage: readonly UsePoint[] = [];
  private readonly card = new Card();

  constructor(private readonly select: (resident: Resident) => void) {
    this.element.append(this.picture, this.card.element);
    this.hover();
    new ResizeObserver(() => {
      this.draw();
    }).observe(this.element);
    this.picture.addEventListener("wheel", (event) => {
      event.preventDefault();
      const factor = WHEEL_ZOOM ** Math.sign(event.deltaY || event.deltaX);
      const box = this.picture.getBoundingClientRect();
      if (event.shiftKey) this.rows.zoom(factor, this.placeAt(event.clientY - box.top));
      else this.columns.zoom(factor, this.commandAt(event.clientX - box.left));
      this.draw();
    });
    this.picture.addEventListener("keydown", (event) => {
      if (this.pressed(event.key)) event.preventDefault();
    });
    this.drag();
  }

  /** `length`: how many commands or lanes there are. */
  show(memory: Memory, over: Over, length: number, bank: number, now: number): void {
    this.memory = memory;
    this.over = over;
    this.bank = memory.space === "R" ? bank : 0;
    this.columns = new Span(0, length, LEAST_COLUMNS);
    // Of a long program what is around this moment: there names have room.
    if (over === "commands" && length > FIRST_COLUMNS) this.columns.zoom(FIRST_COLUMNS / length, now);
    this.selected = undefined;
    this.usage = usageOf(memory);
    this.layRows();
    this.move(now);
  }

  /** Whether stretches that nothing ever uses take little room. */
  setFolded(isFolded: boolean): void {
    this.isFolded = isFolded;
    this.layRows();
    this.draw();
  }

  private layRows(): void {
    if (this.memory === undefined) return;
    const [from, to] = extent(this.memory);
    this.fold = this.isFolded ? Fold.of(this.memory, from, to) : new Fold(from, to);
    this.rows = new Span(0, this.fold.length, Math.min(LEAST_BYTES, this.fold.length));
  }

  move(now: number): void {
    this.now = now;
    if (this.over === "commands") this.columns.reveal(now, now + 1);
    this.draw();
  }

  mark(resident: Resident): void {
    this.selected = resident;
    if (this.over === "commands") this.columns.reveal(resident.born, resident.died + 1);
    this.draw();
  }

  zoom(factor: number): void {
    this.columns.zoom(factor, this.over === "commands" ? this.now : (this.columns.from + this.columns.to) / 2);
    this.draw();
  }

  zoomBytes(factor: number): void {
    const { selected, rows, fold } = this;
    const middle = selected ? fold.place((selected.start + selected.stop) / 2) : (rows.from + rows.to) / 2;
    this.rows.zoom(factor, middle);
    this.draw();
  }

  fit(): void {
    this.columns.fit();
    this.rows.fit();
    this.draw();
  }

  private get width(): number {
    return Math.max(this.element.clientWidth - MARGIN.left - MARGIN.right, LEAST_PLOT_PIXELS);
  }

  private get height(): number {
    return Math.max(this.element.clientHeight - MARGIN.top - MARGIN.bottom, LEAST_PLOT_PIXELS);
  }

  private x(command: number): number {
    return MARGIN.left + ((command - this.columns.from) / this.columns.length) * this.width;
  }

  private y(byte: number): number {
    return MARGIN.top + this.height - ((this.fold.place(byte) - this.rows.from) / this.rows.length) * this.height;
  }

  private commandAt(x: number): number {
    return this.columns.from + ((x - MARGIN.left) / this.width) * this.columns.length;
  }

  /** Position on the axis of bytes, which has folds. */
  private placeAt(y: number): number {
    return this.rows.from + ((MARGIN.top + this.height - y) / this.height) * this.rows.length;
  }

  /** Arrows go through the tensors in the order of their birth. */
  private pressed(key: string): boolean {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (step !== undefined) this.walk(step);
    else if (key === "+" || key === "-") this.zoom(key === "+" ? 1 / KEY_ZOOM : KEY_ZOOM);
    else if (key === "Home") this.fit();
    else return false;
    return true;
  }

  private walk(step: number): void {
    const all = this.memory?.residents ?? [];
    const from = this.selected ? all.indexOf(this.selected) : all.findIndex(({ died }) => died >= this.now) - step;
    const next = all[Math.min(Math.max(from + step, 0), all.length - 1)];
    if (next !== undefined) this.select(next);
  }

  private drag(): void {
    let last: { x: number; y: number } | undefined;
    this.picture.addEventListener("pointerdown", ({ clientX, clientY }) => {
      last = { x: clientX, y: clientY };
    });
    this.picture.addEventListener("pointermove", ({ clientX, clientY, buttons }) => {
      if (last === undefined || buttons !== 1) return;
      this.columns.move(((last.x - clientX) / this.width) * this.columns.length);
      this.rows.move(((clientY - last.y) / this.height) * this.rows.length);
      last = { x: clientX, y: clientY };
      this.draw();
    });
  }

  private draw(): void {
    const { memory, picture } = this;
    if (memory === undefined) return;
    const right = MARGIN.left + this.width;
    const bottom = MARGIN.top + this.height;
    picture.setAttribute("width", String(right + MARGIN.right));
    picture.setAttribute("height", String(bottom + MARGIN.bottom));
    picture.setAttribute(
      "aria-label",
      this.over === "commands"
        ? t(
            "{0}: bytes over commands. Arrow keys go through the tensors, plus and minus zoom, Home shows all.",
            memory.title,
          )
        : t(
            "{0}: bytes over lanes. Arrow keys go through the tensors, plus and minus zoom, Home shows all.",
            memory.title,
          ),
    );
    picture.replaceChildren(
      svg(
        "clipPath",
        { id: "inside" },
        svg("rect", { x: MARGIN.left, y: MARGIN.top, width: this.width, height: this.height }),
      ),
      ...(this.over === "commands"
        ? usageElements(this.usage, (command) => this.x(command), [MARGIN.left, right])
        : []),
      ...this.byteAxis(right),
      ...this.commandAxis(bottom),
      svg("g", { "clip-path": "url(#inside)" }, ...this.visible(memory).map((resident) => this.rectangle(resident))),
      ...this.present(bottom),
    );
  }

  private visible({ residents }: Memory): Resident[] {
    const { columns, rows } = this;
    return residents.filter(
      (resident) =>
        this.fold.place(resident.start) < rows.to &&
        this.fold.place(resident.stop) > rows.from &&
        this.spans(resident).some(([from, to]) => from < columns.to && to > columns.from),
    );
  }

  /** Positions of a tensor on the horizontal axis. */
  private spans(resident: Resident): readonly (readonly [number, number])[] {
    if (this.over === "commands") return [[resident.born, resident.died + 1]];
    return this.isAlive(resident) ? resident.lanes : [];
  }

  private isAlive({ born, died }: Resident): boolean {
    return born <= this.now && this.now <= died;
  }

  private rectangle(resident: Resident): SVGElement {
    const { name, start, stop, born } = resident;
    const spans = this.spans(resident).map(([from, to]) => ({
      left: this.x(from),
      width: Math.max(this.x(to) - this.x(from), LEAST_PIXELS),
    }));
    const { left, width } = spans[0] ?? { left: 0, width: 0 };
    const height = Math.max(this.y(start) - this.y(stop), LEAST_PIXELS);
    const top = this.y(start) - height;
    const classes = [
      "resident",
      `colour${String(colourOf(name, COLOURS))}`,
      this.isAlive(resident) && "alive",
      born === this.now && "coming",
      resident === this.selected && "selected",
    ];
    const visibleLeft = Math.max(left, MARGIN.left);
    const room = Math.min(left + width, MARGIN.left + this.width) - visibleLeft;
    const letters = Math.floor((room - 2 * INSET_PIXELS) / LETTER_PIXELS);
    const text = letters < name.length ? `${name.slice(0, Math.max(letters - 1, 0))}…` : name;
    const label =
      height >= LINE_PIXELS && letters >= LEAST_LETTERS
        ? svg("text", { x: visibleLeft + INSET_PIXELS, y: top + height / 2 + BASE_PIXELS }, text)
        : undefined;
    return svg(
      "g",
      {
        class: classes.filter(Boolean).join(" "),
        "data-name": name,
        "data-index": this.memory?.residents.indexOf(resident),
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
    const [first, last] = [this.fold.byteAt(this.rows.from), this.fold.byteAt(this.rows.to)];
    const places = this.bank ? this.banks(first, last) : ticks(first, last, this.height / BYTE_MARK_PIXELS, 1);
    const every = Math.ceil(LINE_PIXELS / Math.max((this.height * this.bank) / this.rows.length, 1));
    made.push(...this.folds(right));
    for (const byte of places) {
      if (this.fold.hides(byte)) continue;
      const y = this.y(byte);
      if (y < MARGIN.top - 1 || y > MARGIN.top + this.height + 1) continue;
      made.push(svg("line", { class: "rule", x1: MARGIN.left, x2: right, y1: y, y2: y }));
      if (this.bank && (byte / this.bank) % every > 0) continue; // no room for its text
      made.push(
        svg(
          "text",
          { class: "faint", x: MARGIN.left - AXIS_TEXT_PIXELS, y: y + BASE_PIXELS, "text-anchor": "end" },
          this.bank ? bytes(byte) : hex(byte),
        ),
      );
      const middle = (y + this.y(byte + this.bank)) / 2;
      const isFolded = this.fold.gaps.some(({ start, stop }) => start <= byte && byte + this.bank <= stop);
      if (this.bank && middle > MARGIN.top && !isFolded)
        made.push(
          svg(
            "text",
            { class: "faint bank", x: right + AXIS_TEXT_PIXELS, y: middle + BASE_PIXELS },
            t("bank {0}", byte / this.bank),
          ),
        );
    }
    return made;
  }

  private banks(first: number, last: number): number[] {
    const found: number[] = [];
    for (let bank = Math.ceil(first / this.bank); bank * this.bank < last; bank++) found.push(bank * this.bank);
    return found;
  }

  /** What is folded: a band with how much it is. */
  private folds(right: number): SVGElement[] {
    return this.fold.gaps.flatMap(({ start, stop }) => {
      const [low, high] = [this.y(start), this.y(stop)];
      if (high > MARGIN.top + this.height || low < MARGIN.top) return [];
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

  private hover(): void {
    this.picture.addEventListener("pointermove", ({ target, clientX, clientY, buttons }) => {
      const index = (target as Element).closest<SVGElement>(".resident")?.dataset.index;
      const box = this.picture.getBoundingClientRect();
      const resident = index === undefined || buttons > 0 ? undefined : this.memory?.residents[Number(index)];
      this.card.show(resident, clientX - box.left, clientY - box.top);
    });
    this.picture.addEventListener("pointerleave", () => {
      this.card.show(undefined, 0, 0);
    });
  }

  private commandAxis(bottom: number): SVGElement[] {
    const marks = ticks(this.columns.from, this.columns.to, this.width / COMMAND_MARK_PIXELS, 1).map((command) =>
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
        { class: "faint", x: MARGIN.left + this.width / 2, y: bottom + TITLE_BELOW_PIXELS, "text-anchor": "middle" },
        this.over === "commands" ? t("commands executed") : t("lanes"),
      ),
    ];
  }

  private present(bottom: number): SVGElement[] {
    const x = this.x(this.now);
    if (this.over === "lanes" || x < MARGIN.left - 1 || x > MARGIN.left + this.width + 1) return [];
    return [svg("line", { class: "now", "data-ordinal": this.now, x1: x, x2: x, y1: 0, y2: bottom })];
  }
}
