/** The tensor view: pictures, table, statistics and the element at the cursor. */
import type { TensorDescription } from "../../src/protocol/generated";
import type { FileFormat, FromTensorPage, Source, Subject } from "../../src/protocol/messages";
import { html } from "../shared/dom";
import { ask, send } from "../shared/host";
import { t } from "../shared/l10n";
import { Axes } from "./axes";
import { Beside } from "./beside";
import { SIGNED, type Colour, type Range } from "./colours";
import { Controls } from "./controls";
import { Heading } from "./heading";
import { History } from "./history";
import { Layout, type Cell } from "./layout";
import { Pictures } from "./pictures";
import { Pin } from "./pin";
import { Scale, symmetric } from "./scale";
import type { Stage } from "./stage";
import { Status } from "./status";
import { Subjects } from "./subjects";
import { digitsOf, Table } from "./table";
import { Tiles } from "./tiles";

export class TensorView implements Stage {
  readonly camera = { top: 0, left: 0, scale: 0, aspect: 1, isFitted: true };
  cursor: Cell = { row: 0, column: 0 };
  layout = new Layout([]);
  readonly subjects: Subjects;
  readonly tiles: Tiles;
  private description: TensorDescription | undefined;
  private drawing = false;
  private readonly table = new Table(this);
  private readonly beside: Beside;
  private readonly axes: Axes;
  private readonly scale: Scale;
  private readonly pin: Pin;
  readonly history: History;
  private readonly controls: Controls;
  private readonly heading = new Heading();
  private readonly pictures = new Pictures(this);
  private readonly status = new Status();

  constructor(subject: Subject) {
    const redraw = () => {
      this.redraw();
    };
    this.subjects = new Subjects(subject);
    this.tiles = new Tiles(
      (of) => this.subjects.part(of),
      () => this.layout.plane,
      redraw,
      this.status.complain,
    );
    this.scale = new Scale(redraw);
    this.beside = new Beside({
      subjects: this.subjects,
      changed: () => {
        this.scale.suggest(this.span("actual"));
        this.redraw();
      },
      goTo: (index) => {
        this.goTo(index);
      },
      brushed: (range) => {
        this.scale.brush(range);
      },
      when: (index) => {
        this.history.show(this.subjects.subject, this.description?.ordinal ?? 0, index).catch(this.status.complain);
      },
      failed: this.status.complain,
    });
    this.axes = new Axes(
      () => this.layout,
      () => {
        this.rearrange();
      },
      () => {
        this.redraw();
        this.point();
      },
    );
    this.pin = new Pin(subject, () => {
      this.subjects.subject = this.pin.subject;
      void this.renew();
    });
    this.history = new History((ordinal) => {
      this.pin.to(ordinal);
    });
    this.controls = new Controls(
      {
        numbers: () => {
          this.tabulate();
          this.summarise();
        },
        raw: (isRaw) => {
          this.subjects.isRaw = isRaw;
          this.again();
        },
        compare: (expression) => {
          this.compare(expression).catch(this.status.complain);
        },
        zoom: (step) => {
          this.pictures.zoom(step);
        },
        save: (format) => {
          this.save(format);
        },
      },
      {
        axes: this.axes.element,
        positions: this.axes.positions,
        range: this.scale.element,
        palette: this.scale.details,
        pin: this.pin.element,
        following: this.pin.following,
      },
    );
    this.lay();
  }

  // Stage

  get other(): string | undefined {
    return this.subjects.other;
  }

  range(of: Source): Range {
    return of === "error"
      ? symmetric(this.span("error"))
      : this.scale.range(this.span(of === "stored" ? of : "actual"));
  }

  /** From the least to the greatest of all elements; while that is not known, of those seen. */
  private span(of: Source): Range {
    return this.beside.extent(of) ?? this.tiles.extent(of) ?? { low: 0, high: 1 };
  }

  marks(of: Source): boolean {
    return of !== "error" && this.scale.marks;
  }

  colours(of: Source): readonly Colour[] {
    return of === "error" ? SIGNED : this.scale.colours;
  }

  moveTo({ row, column }: Cell): void {
    const to = this.layout.nearest({ row, column });
    if (this.layout.indexAt(to) === undefined) return; // after the last channel
    this.cursor = to;
    this.pictures.reveal(this.cursor);
    this.redraw();
    this.point();
  }

  redraw(): void {
    if (this.drawing) return;
    this.drawing = true;
    document.body.dataset.complete = "false";
    requestAnimationFrame(() => {
      this.drawing = false;
      if (this.description === undefined) return;
      this.pictures.measure();
      if (this.camera.scale === 0) return;
      this.tiles.look();
      this.pictures.draw();
      this.table.draw();
      this.tiles.fetch();
      document.body.dataset.complete = String(this.tiles.complete);
    });
  }

  /** The cell under the pointer, of all pictures at once. */
  hover(cell: Cell | undefined): void {
    const index = cell && this.layout.indexAt(cell);
    const numbers = cell === undefined ? [] : this.pictures.numbers(cell);
    this.status.say(
      index === undefined || numbers.length === 0 ? "" : `[${index.join(", ")}]: ${numbers.join(" · ")}`,
      true,
    );
  }

  // The tensor

  /** Look again: the program has stopped elsewhere, or the view has another subject. */
  async renew(): Promise<void> {
    try {
      const { subject } = this.subjects;
      const description = await ask("tdb/tensor", subject);
      const before = this.description;
      this.description = description;
      if (before?.shape.join() !== description.shape.join()) this.reshape(description.shape);
      else this.tiles.refresh();
      this.describe(description);
      if (before?.hasReference !== description.hasReference) this.placeMaps(description);
      this.redraw();
      this.point();
      await this.beside.summarise(description, this.controls.source);
      await this.history.show(subject, description.ordinal);
    } catch (error) {
      this.status.complain(error);
    }
  }

  ended(): void {
    document.body.classList.add("ended");
    this.status.say(t("The session has ended; these are its last numbers."));
  }

  private describe(description: TensorDescription): void {
    const { dtype, ordinal, commands } = description;
    this.heading.show(description);
    this.pin.describe(ordinal, commands);
    this.status.say("");
    this.table.digits = digitsOf(dtype);
    document.body.dataset.ordinal = String(ordinal);
  }

  private reshape(shape: readonly number[]): void {
    this.layout = new Layout(shape);
    this.beside.forget();
    this.rearrange();
    this.axes.place();
  }

  /** Other rows and columns are shown than before. */
  private rearrange(): void {
    this.tiles.clear();
    this.cursor = { row: 0, column: 0 };
    Object.assign(this.camera, { top: 0, left: 0, scale: 0 });
    this.redraw();
    this.point();
  }

  private placeMaps({ hasReference, scale, zeroPoint }: TensorDescription): void {
    const sources = this.subjects.sources(hasReference);
    this.pictures.place(sources);
    this.controls.offer(sources, scale !== 1 || zeroPoint !== 0, this.other);
    this.tabulate();
    this.camera.scale = 0;
  }

  /** The same tensor, other pictures of it. */
  private again(): void {
    if (this.description === undefined) return;
    this.tiles.clear();
    this.beside.forget();
    this.placeMaps(this.description);
    this.point();
    this.summarise();
  }

  private async compare(other: string): Promise<void> {
    await this.subjects.compareWith(other, this.description?.shape ?? []);
    this.again();
  }

  /** Go to an element wherever it is. */
  private goTo(index: readonly number[]): void {
    const cell = this.layout.show(index);
    this.axes.place();
    this.moveTo(cell);
  }

  // What is said around the pictures

  private point(): void {
    if (this.description !== undefined) this.beside.point(this.layout.indexAt(this.cursor), this.description.dtype);
  }

  private tabulate(): void {
    this.table.of = this.controls.bits.checked ? "bits" : this.controls.source;
    this.redraw();
  }

  private summarise(): void {
    if (this.description !== undefined)
      this.beside.summarise(this.description, this.controls.source).catch(this.status.complain);
  }

  private save(format: FileFormat): void {
    const { source } = this.controls;
    const picture = format === "png" ? this.pictures.png(source) : undefined;
    send({ type: "save", format, subject: this.subjects.subject, of: source, picture } satisfies FromTensorPage);
  }

  private lay(): void {
    const { row, more, key } = this.controls;
    const main = html(
      "main",
      {},
      this.pictures.element,
      html("div", { class: "bar" }, key, html("span", { class: "fill" }), this.status.element),
      html("div", { class: "table" }, this.table.element),
    );
    document.body.replaceChildren(
      html("header", {}, this.heading.element, row, more, this.history.element, this.history.versions.element),
      html("div", { class: "body" }, main, this.beside.element),
    );
  }
}
