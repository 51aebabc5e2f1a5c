/** The chart: commands or lanes from left to right, bytes from the bottom up, rectangles for each tensor. */
import type { Memory, Resident } from "../../src/protocol/generated";
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { Span } from "../shared/ticks";
import { KEY_ZOOM, WHEEL_ZOOM } from "../shared/zoom";
import { Card } from "./card";
import { ChartPainter, MARGIN, type Over, type Scene } from "./chartPainter";
import { Fold } from "./fold";
import { extent } from "./model";
import { labelsOf } from "../shared/text";
import { usageOf, type UsePoint } from "./usage";

/** The plot is never smaller, however small its page. */
const LEAST_PLOT_PIXELS = 10;
/** The shortest visible parts: commands or lanes, and bytes. */
const LEAST_COLUMNS = 4;
/** Commands that are visible at first. */
const FIRST_COLUMNS = 400;
const LEAST_BYTES = 64;

/** Letters of a name in a rectangle that is not wide enough for all of it. */
const LETTERS = 20;

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
  private labels: ReadonlyMap<string, string> = new Map();
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
    this.labels = labelsOf(
      memory.residents.map(({ name }) => name),
      LETTERS,
    );
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
    const scene: Scene = {
      memory,
      over: this.over,
      columns: this.columns,
      rows: this.rows,
      fold: this.fold,
      bank: this.bank,
      now: this.now,
      selected: this.selected,
      usage: this.usage,
      labels: this.labels,
      width: this.width,
      height: this.height,
    };
    picture.setAttribute("width", String(MARGIN.left + this.width + MARGIN.right));
    picture.setAttribute("height", String(MARGIN.top + this.height + MARGIN.bottom));
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
    picture.replaceChildren(...new ChartPainter(scene, this.select).elements());
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
}
