/** The tensor view: heat maps, table, statistics and the element at the cursor. */
import "../shared/theme.css";
import "./tensor.css";
import { textOf } from "../../src/errors";
import type { Description, Element, Format, FromView, Source, Statistics, Subject, ToView } from "../../src/tensor/messages";
import { button, html } from "../shared/dom";
import { ask, listen, tell } from "../shared/host";
import { short, type Range } from "./colours";
import { HeatMap, type Cell, type Stage } from "./heatmap";
import { cursorRows, drawHistogram, largestList, largestTitle, statisticsRows } from "./summary";
import { Table } from "./table";
import { Tiles, type Plane } from "./tiles";

/** Elements up to which statistics are made unasked: they look at all of them. */
const UNASKED = 1 << 24;

class TensorView implements Stage {
  readonly camera = { top: 0, left: 0, scale: 0 };
  readonly cursor: Cell = { row: 0, column: 0 };
  readonly tiles = new Tiles(() => this.subject, () => this.plane(), () => { this.redraw(); }, (error) => { this.complain(error); });
  private subject: Subject;
  private readonly named: Subject;
  private description: Description | undefined;
  private rowAxis: number | null = null;
  private columnAxis: number | null = null;
  private index: number[] = [];
  private readonly found = new Map<Source, Statistics>();
  private chosen: Range | undefined;
  private drawing = false;
  private asking: number | undefined;
  private maps: HeatMap[] = [];
  private readonly table = new Table(this);

  private readonly title = html("h1");
  private readonly about = html("p", { id: "about" });
  private readonly axes = html("div", { class: "bar", role: "group", "aria-label": "Axes" });
  private readonly pictures = html("div", { class: "maps" });
  private readonly status = html("p", { id: "status", role: "status" });
  private readonly element = html("dl", { id: "cursor", "aria-live": "polite", "aria-label": "Element at the cursor" });
  private readonly summary = html("dl", { id: "statistics", "aria-label": "Statistics" });
  private readonly histogram = html("canvas", { width: 240, height: 72, role: "img", class: "histogram" });
  private readonly ends = html("p", { class: "ends" });
  private readonly largest = html("ol");
  private readonly largestHead = html("h2");
  private readonly of = html("select", { "aria-label": "Numbers in the table, the statistics and the list" });
  private readonly pin = html("input", { type: "checkbox", id: "pin" });
  private readonly pinLabel = html("label", { for: "pin" });
  private readonly follow = html("input", { type: "checkbox", id: "follow" });
  private readonly low = html("input", { type: "number", step: "any", "aria-label": "Colours from" });
  private readonly high = html("input", { type: "number", step: "any", "aria-label": "Colours to" });

  constructor(subject: Subject) {
    this.subject = this.named = subject;
    this.of.addEventListener("change", () => {
      this.table.of = this.source;
      this.redraw();
      void this.summarise();
    });
    this.pin.addEventListener("change", () => { this.choose(); });
    this.follow.addEventListener("change", () => { this.choose(); });
    for (const input of [this.low, this.high]) input.addEventListener("change", () => { this.chooseRange(); });
    this.lay();
  }

  // Stage

  plane(): Plane {
    const shape = this.description?.shape ?? [];
    const extent = (axis: number | null) => (axis === null ? 1 : (shape[axis] ?? 1));
    return { rowAxis: this.rowAxis, columnAxis: this.columnAxis, index: this.index, rows: extent(this.rowAxis), columns: extent(this.columnAxis) };
  }

  range(of: Source): Range {
    if (of === "error") {
      const { low, high } = this.span("error");
      const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
      return { low: -most, high: most };
    }
    return this.chosen ?? this.span("actual");
  }

  /** From the least to the greatest of all elements; while that is not known, of those seen. */
  private span(of: Source): Range {
    const found = this.found.get(of);
    if (found === undefined) return this.tiles.extent(of) ?? { low: 0, high: 1 };
    return { low: found.minimum ?? 0, high: found.maximum ?? 1 };
  }

  marks(of: Source): boolean {
    return of !== "error" && this.chosen !== undefined;
  }

  moveTo({ row, column }: Cell): void {
    const { rows, columns } = this.plane();
    this.cursor.row = Math.max(0, Math.min(rows - 1, row));
    this.cursor.column = Math.max(0, Math.min(columns - 1, column));
    this.maps[0]?.reveal(this.cursor);
    this.redraw();
    this.askElement();
  }

  redraw(): void {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      if (this.description === undefined) return;
      if (this.camera.scale === 0 && this.maps[0]?.canvas.clientWidth) this.camera.scale = this.maps[0].fit();
      if (this.camera.scale === 0) return;
      this.tiles.look();
      for (const map of this.maps) map.draw();
      this.table.draw();
      this.tiles.fetch();
      document.body.dataset.complete = String(this.tiles.complete);
    });
  }

  hover(cell: Cell | undefined, of: Source): void {
    const number = cell && this.tiles.number(of, cell.row, cell.column);
    this.status.textContent = cell === undefined || number === undefined ? "" : `${of} [${this.indexAt(cell).join(", ")}] = ${short(number)}`;
  }

  // The tensor

  /** Look again: the program has stopped elsewhere, or the view has another subject. */
  async renew(): Promise<void> {
    try {
      const description = await ask<Description>("tdb/tensor", this.subject);
      const before = this.description;
      this.description = description;
      if (before?.shape.join() !== description.shape.join()) this.reshape(description.shape);
      else this.tiles.refresh();
      this.describe(description);
      if (before?.hasReference !== description.hasReference) this.placeMaps(description.hasReference);
      this.redraw();
      this.askElement();
      await this.summarise();
    } catch (error) {
      this.complain(error);
    }
  }

  ended(): void {
    document.body.classList.add("ended");
    this.status.textContent = "The session has ended; these are its last numbers.";
  }

  private get source(): Source {
    return this.of.value as Source;
  }

  /** Pinned to a moment, at each stop the tensor of that stop's op, or the same memory. */
  private choose(): void {
    const { expression, level } = this.named;
    const moment = this.description?.ordinal;
    if (this.pin.checked && moment !== undefined) this.subject = { ...this.subject, ordinal: moment };
    else this.subject = this.follow.checked && level !== undefined ? { expression, level } : this.named;
    this.follow.disabled = this.pin.checked;
    void this.renew();
  }

  private chooseRange(): void {
    const [low, high] = [this.low.valueAsNumber, this.high.valueAsNumber];
    this.chosen = Number.isNaN(low) || Number.isNaN(high) || low >= high ? undefined : { low, high };
    this.redraw();
  }

  private describe({ title, dtype, shape, type, layout, scale, zeroPoint, pending, ordinal, commands }: Description): void {
    this.title.textContent = `${title} `;
    this.title.append(html("code", {}, `${dtype}[${shape.join(",")}]`));
    const quantised = scale !== 1 || zeroPoint !== 0 ? `scale ${String(scale)}, zero point ${String(zeroPoint)}` : "";
    const time = `at ordinal ${ordinal.toLocaleString("en")} of ${commands.toLocaleString("en")}`;
    this.about.textContent = [time, pending ? "not yet computed" : "", layout, type, quantised].filter(Boolean).join(" · ");
    this.pinLabel.textContent = this.pin.checked ? `Pinned to ordinal ${String(ordinal)}` : "Pin to this moment";
    this.status.textContent = "";
    document.body.dataset.ordinal = String(ordinal);
  }

  private reshape(shape: readonly number[]): void {
    const long = shape.flatMap((extent, axis) => (extent > 1 ? [axis] : []));
    this.columnAxis = long.at(-1) ?? (shape.length > 0 ? shape.length - 1 : null);
    this.rowAxis = long.at(-2) ?? (shape.length > 1 ? (this.columnAxis === 0 ? 1 : (this.columnAxis ?? 1) - 1) : null);
    this.index = shape.map(() => 0);
    this.found.clear();
    this.rearrange();
    this.placeAxes(shape);
  }

  /** Other rows and columns are shown than before. */
  private rearrange(): void {
    this.tiles.clear();
    Object.assign(this.cursor, { row: 0, column: 0 });
    Object.assign(this.camera, { top: 0, left: 0, scale: 0 });
    this.redraw();
  }

  private placeAxes(shape: readonly number[]): void {
    const picker = (label: string, now: number | null, choose: (axis: number) => void) => {
      const select = html("select", {}, ...shape.map((extent, axis) => html("option", { value: axis, selected: axis === now }, `${String(axis)} (${String(extent)})`)));
      select.addEventListener("change", () => {
        choose(Number(select.value));
        this.rearrange();
        this.placeAxes(shape);
        this.askElement();
      });
      return html("label", {}, `${label} `, select);
    };
    const parts: Node[] = [];
    if (shape.length > 1) {
      parts.push(
        picker("Rows: axis", this.rowAxis, (axis) => { [this.rowAxis, this.columnAxis] = [axis, axis === this.columnAxis ? this.rowAxis : this.columnAxis]; }),
        picker("Columns: axis", this.columnAxis, (axis) => { [this.columnAxis, this.rowAxis] = [axis, axis === this.rowAxis ? this.columnAxis : this.rowAxis]; }),
      );
    }
    shape.forEach((extent, axis) => {
      if (axis === this.rowAxis || axis === this.columnAxis || extent === 1) return;
      const input = html("input", { type: "number", min: 0, max: extent - 1, value: this.index[axis] ?? 0, "data-axis": axis });
      input.addEventListener("input", () => {
        if (!input.validity.valid || input.value === "") return;
        this.index[axis] = input.valueAsNumber;
        this.tiles.clear();
        this.redraw();
        this.askElement();
      });
      parts.push(html("label", {}, `Axis ${String(axis)} `, input, ` of ${String(extent)}`));
    });
    this.axes.replaceChildren(...parts);
  }

  private placeMaps(hasReference: boolean): void {
    const sources: Source[] = hasReference ? ["actual", "reference", "error"] : ["actual"];
    this.maps = sources.map((of) => new HeatMap(of, this));
    this.pictures.replaceChildren(...this.maps.map((map) => map.element));
    const before = this.of.value;
    this.of.replaceChildren(...sources.map((of) => html("option", { value: of, selected: of === before }, of)));
    this.table.of = this.source;
    this.camera.scale = 0;
  }

  private indexAt({ row, column }: Cell): number[] {
    return this.index.map((at, axis) => (axis === this.rowAxis ? row : axis === this.columnAxis ? column : at));
  }

  /** Go to an element wherever it is. */
  private goTo(index: readonly number[]): void {
    if (index.some((at, axis) => axis !== this.rowAxis && axis !== this.columnAxis && at !== this.index[axis])) {
      this.index = [...index];
      this.tiles.clear();
      this.placeAxes(this.description?.shape ?? []);
    }
    const on = (axis: number | null) => (axis === null ? 0 : (index[axis] ?? 0));
    this.moveTo({ row: on(this.rowAxis), column: on(this.columnAxis) });
  }

  // What is said beside the pictures

  private askElement(): void {
    window.clearTimeout(this.asking);
    this.asking = window.setTimeout(() => void this.showElement(), 30);
  }

  private async showElement(): Promise<void> {
    const { description, cursor } = this;
    if (description === undefined) return;
    const index = this.indexAt(cursor);
    const element = await ask<Element>("tdb/tensorElement", { ...this.subject, index }).catch(() => undefined);
    if (element !== undefined) this.element.replaceChildren(...cursorRows(index, element, description.dtype));
  }

  private async summarise(forced = false): Promise<void> {
    const { description } = this;
    if (description === undefined) return;
    const size = description.shape.reduce((product, extent) => product * extent, 1);
    if (size > UNASKED && !forced) {
      this.found.clear();
      const now = button("Compute", () => void this.summarise(true), { title: `Look at all ${size.toLocaleString("en")} elements` });
      this.summary.replaceChildren(html("dt", {}, now));
      return;
    }
    const wanted: Source[] = description.hasReference ? ["actual", "error"] : ["actual"];
    if (!wanted.includes(this.source)) wanted.push(this.source);
    for (const of of wanted) this.found.set(of, await ask<Statistics>("tdb/tensorStatistics", { ...this.subject, of }));
    const found = this.found.get(this.source);
    if (found === undefined) return;
    this.summary.replaceChildren(...statisticsRows(found, size));
    drawHistogram(this.histogram, found);
    this.ends.replaceChildren(html("span", {}, short(found.minimum)), html("span", {}, short(found.maximum)));
    this.largestHead.textContent = largestTitle(this.source);
    this.largest.replaceChildren(...largestList(found, (index) => { this.goTo(index); }));
    const { low, high } = this.range("actual");
    this.low.placeholder = short(low);
    this.high.placeholder = short(high);
    this.redraw();
  }

  private complain(error: unknown): void {
    this.status.textContent = textOf(error);
  }

  private save(format: Format): void {
    const map = this.maps.find(({ of }) => of === this.source);
    const picture = format === "png" ? map?.canvas.toDataURL("image/png").split(",")[1] : undefined;
    tell({ type: "save", format, subject: this.subject, of: this.source, picture } satisfies FromView);
  }

  private lay(): void {
    const tools = html("div", { class: "bar", role: "toolbar", "aria-label": "View" },
      html("span", {}, this.pin, this.pinLabel),
      html("span", { title: "After each stop show what the expression means there, instead of the same memory" }, this.follow, html("label", { for: "follow" }, "Follow the op")),
      button("−", () => { this.maps[0]?.zoom(0.5); }, { title: "Zoom out (-)", "aria-label": "Zoom out" }),
      button("+", () => { this.maps[0]?.zoom(2); }, { title: "Zoom in (+)", "aria-label": "Zoom in" }),
      button("Fit", () => { this.maps[0]?.whole(); }, { title: "Show all (0)" }),
      html("label", {}, "Colours ", this.low, " to ", this.high),
      html("label", {}, "Numbers ", this.of),
      ...(["npy", "csv", "png"] as const).map((format) => button(format, () => { this.save(format); }, { title: `Save as ${format}` })),
    );
    this.pinLabel.textContent = "Pin to this moment";
    const beside = html("aside", {},
      html("section", {}, html("h2", {}, "Element"), this.element),
      html("section", {}, html("h2", {}, "Statistics"), this.summary, this.histogram, this.ends),
      html("section", {}, this.largestHead, this.largest),
    );
    const main = html("main", {}, this.pictures, this.status, html("div", { class: "table" }, this.table.element));
    document.body.replaceChildren(html("header", {}, this.title, this.about, this.axes, tools), html("div", { class: "body" }, main, beside));
  }
}

let view: TensorView | undefined;
listen((message: ToView) => {
  if (message.type === "show") view = new TensorView(message.subject);
  if (message.type === "ended") view?.ended();
  else void view?.renew();
});
