/** The tensor view: pictures, table, statistics and the element at the cursor. */
import "../shared/theme.css";
import "./tensor.css";
import { textOf } from "../../src/protocol/errors";
import type { TensorDescription } from "../../src/protocol/generated";
import type { FileFormat, FromTensorPage, Source, Subject, ToTensorPage } from "../../src/protocol/messages";
import { button, html, svg } from "../shared/dom";
import { ask, listen, send } from "../shared/host";
import { inserted, t } from "../shared/l10n";
import { Axes } from "./axes";
import { Beside } from "./beside";
import { MARKS, short, SIGNED, type Colour, type Range } from "./colours";
import { HeatMap, KEY_ZOOM, type Stage } from "./heatmap";
import { Layout, type Cell } from "./layout";
import { withoutMoment } from "./moment";
import { Scale, symmetric } from "./scale";
import { sourceName } from "./sources";
import { Table } from "./table";
import { Tiles } from "./tiles";

/** Pixels of a side of a square in the legend. */
const SWATCH = 10;
const FORMATS: readonly (readonly [FileFormat, string])[] = [
  ["npy", t("Save the chosen numbers as npy")],
  ["npz", t("Save actual, reference and error as npz")],
  ["csv", t("Save the chosen numbers as csv")],
  ["png", t("Save the picture of the chosen numbers as png")],
];

/** Bits of an element whose type does not say, and of a hexadecimal digit. */
const WORD_BITS = 32;
const DIGIT_BITS = 4;

class TensorView implements Stage {
  readonly camera = { top: 0, left: 0, scale: 0 };
  cursor: Cell = { row: 0, column: 0 };
  layout = new Layout([]);
  readonly tiles = new Tiles(
    () => this.subject,
    () => this.layout.plane,
    () => {
      this.redraw();
    },
    (error) => {
      this.complain(error);
    },
  );
  private subject: Subject;
  private readonly named: Subject;
  private description: TensorDescription | undefined;
  private drawing = false;
  private maps: HeatMap[] = [];
  private readonly table = new Table(this);
  private readonly beside = new Beside(
    () => {
      this.scale.suggest(this.span("actual"));
      this.redraw();
    },
    (index) => {
      this.goTo(index);
    },
    (error) => {
      this.complain(error);
    },
  );
  private readonly axes = new Axes(
    () => this.layout,
    () => {
      this.rearrange();
    },
    () => {
      this.redraw();
      this.point();
    },
  );
  private readonly scale = new Scale(() => {
    this.redraw();
  });

  private readonly title = html("h1");
  private readonly about = html("p", { id: "about" });
  private readonly pictures = html("div", { class: "maps" });
  private readonly status = html("p", { id: "status", role: "status" });
  private readonly of = html("select", {
    id: "of",
    "aria-label": t("Numbers in the table, the statistics and the files"),
    change: () => {
      this.tabulate();
      this.summarise();
    },
  });
  private readonly bits = html("input", {
    type: "checkbox",
    id: "bits",
    change: () => {
      this.tabulate();
    },
  });
  private readonly pin = html("input", {
    type: "checkbox",
    id: "pin",
    change: () => {
      this.choose();
    },
  });
  private readonly pinLabel = html("label", { for: "pin" }, t("Pin to this moment"));
  private readonly moment = html("input", {
    type: "number",
    id: "moment",
    min: 0,
    hidden: true,
    "aria-label": t("Command"),
    change: () => {
      this.choose();
    },
  });
  private readonly follow = html("input", {
    type: "checkbox",
    id: "follow",
    change: () => {
      this.choose();
    },
  });

  constructor(subject: Subject) {
    this.subject = this.named = subject;
    this.lay();
  }

  // Stage

  range(of: Source): Range {
    return of === "error" ? symmetric(this.span("error")) : this.scale.range(this.span("actual"));
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
    const { rows, columns } = this.layout.plane;
    const to = { row: Math.max(0, Math.min(rows - 1, row)), column: Math.max(0, Math.min(columns - 1, column)) };
    if (this.layout.indexAt(to) === undefined) return; // after the last channel
    this.cursor = to;
    this.maps[0]?.reveal(this.cursor);
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
      if (this.camera.scale === 0 && this.maps[0]?.canvas.clientWidth) this.camera.scale = this.maps[0].fit();
      if (this.camera.scale === 0) return;
      this.tiles.look();
      for (const map of this.maps) map.draw();
      this.table.draw();
      this.tiles.fetch();
      document.body.dataset.complete = String(this.tiles.complete);
    });
  }

  /** The cell under the pointer, of all pictures at once. */
  hover(cell: Cell | undefined): void {
    const index = cell && this.layout.indexAt(cell);
    const numbers = this.maps.flatMap(({ of }) => {
      const number = cell && this.tiles.number(of, cell.row, cell.column);
      return number === undefined ? [] : [`${sourceName(of)} ${short(number)}`];
    });
    this.status.textContent =
      index === undefined || numbers.length === 0 ? "" : `[${index.join(", ")}]: ${numbers.join(" · ")}`;
  }

  // The tensor

  /** Look again: the program has stopped elsewhere, or the view has another subject. */
  async renew(): Promise<void> {
    try {
      const description = await ask("tdb/tensor", this.subject);
      const before = this.description;
      this.description = description;
      if (before?.shape.join() !== description.shape.join()) this.reshape(description.shape);
      else this.tiles.refresh();
      this.describe(description);
      if (before?.hasReference !== description.hasReference) this.placeMaps(description.hasReference);
      this.redraw();
      this.point();
      await this.beside.summarise(this.subject, description, this.source);
    } catch (error) {
      this.complain(error);
    }
  }

  ended(): void {
    document.body.classList.add("ended");
    this.status.textContent = t("The session has ended; these are its last numbers.");
  }

  private get source(): Source {
    return this.of.value as Source;
  }

  /** Pinned to a moment, at each stop the tensor of that stop's op, or the same memory. */
  private choose(): void {
    const { expression, level } = this.named;
    this.moment.hidden = !this.pin.checked;
    if (!this.pin.checked) this.moment.value = "";
    else if (this.moment.value === "") this.moment.value = String(this.description?.ordinal ?? 0);
    if (this.pin.checked) this.subject = { ...this.subject, ordinal: this.moment.valueAsNumber };
    else
      this.subject =
        this.follow.checked && level !== undefined ? { expression: withoutMoment(expression), level } : this.named;
    this.follow.disabled = this.pin.checked;
    void this.renew();
  }

  private describe({
    title,
    dtype,
    shape,
    type,
    layout,
    scale,
    zeroPoint,
    pending,
    ordinal,
    commands,
  }: TensorDescription): void {
    this.title.textContent = `${title} `;
    this.title.append(html("code", {}, `${dtype}[${shape.join(",")}]`));
    const quantised = scale !== 1 || zeroPoint !== 0 ? t("scale {0}, zero point {1}", scale, zeroPoint) : "";
    const time = t("command {0} of {1}", ordinal.toLocaleString("en"), commands.toLocaleString("en"));
    this.about.textContent = [time, pending ? t("not yet computed") : "", layout, type, quantised]
      .filter(Boolean)
      .join(" · ");
    this.pinLabel.textContent = this.pin.checked ? t("Pinned to command") : t("Pin to this moment");
    this.moment.max = String(commands);
    this.status.textContent = "";
    this.table.digits = Number(/\d+/.exec(dtype)?.[0] ?? WORD_BITS) / DIGIT_BITS;
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

  private placeMaps(hasReference: boolean): void {
    const sources: Source[] = hasReference ? ["actual", "reference", "error"] : ["actual"];
    this.maps = sources.map((of) => new HeatMap(of, this));
    this.pictures.replaceChildren(...this.maps.map((map) => map.element));
    const before = this.of.value;
    this.of.replaceChildren(
      ...sources.map((of) => html("option", { value: of, selected: of === before }, sourceName(of))),
    );
    this.tabulate();
    this.camera.scale = 0;
  }

  /** Go to an element wherever it is. */
  private goTo(index: readonly number[]): void {
    const cell = this.layout.show(index);
    this.axes.place();
    this.moveTo(cell);
  }

  // What is said around the pictures

  private point(): void {
    if (this.description !== undefined)
      this.beside.point(this.subject, this.layout.indexAt(this.cursor), this.description.dtype);
  }

  private tabulate(): void {
    this.table.of = this.bits.checked ? "bits" : this.source;
    this.redraw();
  }

  private summarise(): void {
    if (this.description !== undefined) {
      this.beside.summarise(this.subject, this.description, this.source).catch((error: unknown) => {
        this.complain(error);
      });
    }
  }

  private complain(error: unknown): void {
    this.status.textContent = textOf(error);
  }

  private save(format: FileFormat): void {
    const map = this.maps.find(({ of }) => of === this.source);
    const picture = format === "png" ? map?.canvas.toDataURL("image/png").split(",")[1] : undefined;
    send({ type: "save", format, subject: this.subject, of: this.source, picture } satisfies FromTensorPage);
  }

  private lay(): void {
    const label = (input: HTMLInputElement, text: string, title: string) =>
      html("span", { title }, input, html("label", { for: input.id }, text));
    const tools = html(
      "div",
      { class: "bar", role: "toolbar", "aria-label": t("View") },
      html(
        "span",
        { title: t("Keep showing the contents of this moment, wherever the program stops") },
        this.pin,
        this.pinLabel,
        " ",
        this.moment,
      ),
      label(
        this.follow,
        t("Follow the op"),
        t("After each stop evaluate the expression there, instead of showing the same memory"),
      ),
      html(
        "span",
        { class: "group" },
        button(
          "−",
          () => {
            this.maps[0]?.zoom(1 / KEY_ZOOM);
          },
          { title: t("Zoom out (-)"), "aria-label": t("Zoom out") },
        ),
        button(
          "+",
          () => {
            this.maps[0]?.zoom(KEY_ZOOM);
          },
          { title: t("Zoom in (+)"), "aria-label": t("Zoom in") },
        ),
        button(
          t("Fit"),
          () => {
            this.maps[0]?.whole();
          },
          { title: t("Show all (0)") },
        ),
      ),
      this.scale.element,
    );
    const numbers = html(
      "div",
      { class: "bar", role: "toolbar", "aria-label": t("Numbers") },
      html("label", {}, ...inserted("Numbers {0}", this.of)),
      label(this.bits, t("Bits"), t("The words in memory, in the table")),
      html(
        "span",
        { class: "group" },
        html("span", {}, t("Save"), " "),
        ...FORMATS.map(([format, title]) =>
          button(
            format,
            () => {
              this.save(format);
            },
            { title },
          ),
        ),
      ),
    );
    const key = html(
      "div",
      { class: "bar key", "aria-label": t("Special colours") },
      ...MARKS.map(([name, colour]) =>
        html(
          "span",
          {},
          svg(
            "svg",
            { width: SWATCH, height: SWATCH, "aria-hidden": "true" },
            svg("rect", { width: SWATCH, height: SWATCH, fill: `rgb(${colour.join()})` }),
          ),
          ` ${name}`,
        ),
      ),
    );
    const main = html(
      "main",
      {},
      this.pictures,
      key,
      this.status,
      numbers,
      html("div", { class: "table" }, this.table.element),
    );
    document.body.replaceChildren(
      html("header", {}, this.title, this.about, this.axes.element, tools),
      html("div", { class: "body" }, main, this.beside.element),
    );
  }
}

let view: TensorView | undefined;
listen((message: ToTensorPage) => {
  if (message.type === "show") view = new TensorView(message.subject);
  if (message.type === "ended") view?.ended();
  else void view?.renew();
});
