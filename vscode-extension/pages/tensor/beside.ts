/** Beside the pictures: the element at the cursor, statistics, and the elements to look at first. */
import type { TensorDescription, TensorElement, TensorStatistics } from "../../src/protocol/generated";
import type { Source } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import type { Range } from "./colours";
import { Histogram } from "./histogram";
import type { Subjects } from "./subjects";
import { cursorRows, largestList, statisticsRows } from "./summary";

/** Elements up to which statistics are made unasked: they look at all of them. */
const UNASKED_ELEMENTS = 1 << 24;
/** The cursor may move faster than elements are asked for. */
const PAUSE_MILLISECONDS = 30;

/** What the rest of the view is asked, and told. */
export interface Listener {
  readonly subjects: Subjects;
  /** There is something new to draw. */
  changed(): void;
  /** An element was chosen from a list. */
  goTo(index: readonly number[]): void;
  /** A range of the histogram was chosen; undefined: all of it. */
  brushed(range: Range | undefined): void;
  /** The writers of an element are wanted. */
  when(index: readonly number[]): void;
  failed(error: unknown): void;
}

export class Beside {
  readonly element: HTMLElement;
  private readonly found = new Map<Source | "stored", TensorStatistics>();
  private readonly cursor = html("dl", {
    id: "cursor",
    "aria-live": "polite",
    "aria-label": t("Element at the cursor"),
  });
  private readonly summary = html("dl", { id: "statistics", "aria-label": t("Statistics") });
  private readonly histogram: Histogram;
  private readonly worst = html("ol", { id: "worst" });
  private readonly worstSection = html("section", {}, html("h2", {}, t("Worst elements")), this.worst);
  private readonly largest = html("ol", { id: "largest" });
  private asking: number | undefined;
  private turn = 0;

  private index: readonly number[] = [];

  constructor(private readonly on: Listener) {
    this.histogram = new Histogram(on.brushed.bind(on));
    const statistics = html("div", { class: "numbers" }, this.histogram.element, this.summary);
    const when = button(
      t("When did this change?"),
      () => {
        on.when(this.index);
      },
      { class: "link", title: t("Show the writers of this element in the history") },
    );
    this.element = html(
      "aside",
      {},
      html("section", {}, html("h2", {}, t("Element")), this.cursor, when),
      html("section", {}, html("h2", {}, t("Statistics")), statistics),
      this.worstSection,
      html("section", {}, html("h2", {}, t("Largest magnitudes")), this.largest),
    );
  }

  /** From the least to the greatest of all elements; undefined while that is not known. */
  extent(of: Source): Range | undefined {
    const found = this.found.get(of);
    return found && { low: found.minimum ?? 0, high: found.maximum ?? 1 };
  }

  /** Another tensor: what was found is not about it. */
  forget(): void {
    this.found.clear();
    this.turn++;
  }

  point(index: readonly number[] | undefined, dtype: string): void {
    window.clearTimeout(this.asking);
    if (index === undefined) return;
    this.index = index;
    this.asking = window.setTimeout(() => {
      this.look(index).then((element) => {
        this.cursor.replaceChildren(...cursorRows(index, element, dtype));
      }, this.on.failed.bind(this.on));
    }, PAUSE_MILLISECONDS);
  }

  /** The element; beside it that of the tensor it is compared with. */
  private async look(index: readonly number[]): Promise<TensorElement> {
    const { subjects } = this.on;
    const element = await ask("tdb/tensorElement", { ...subjects.subject, index: [...index] });
    if (subjects.other === undefined) return element;
    const of = async (source: Source) => {
      const { expression } = subjects.part(source);
      return (await ask("tdb/tensorElement", { ...subjects.subject, expression, index: [...index] })).actual;
    };
    return { ...element, reference: await of("reference"), error: await of("error") };
  }

  /** Look at all elements, unless there are too many to do that unasked. `of`: whose summary is shown. */
  async summarise(description: TensorDescription, of: Source, forced = false): Promise<void> {
    const turn = ++this.turn;
    const size = description.shape.reduce((product, extent) => product * extent, 1);
    const { subjects } = this.on;
    const hasError = subjects.sources(description.hasReference).includes("error");
    this.worstSection.hidden = !hasError;
    if (size > UNASKED_ELEMENTS && !forced) {
      this.found.clear();
      const title = t("Compute from all {0} elements", size.toLocaleString("en"));
      this.summary.replaceChildren(
        html(
          "dt",
          {},
          button(
            t("Compute"),
            () => {
              this.summarise(description, of, true).catch(this.on.failed.bind(this.on));
            },
            { title },
          ),
        ),
      );
      return;
    }
    const wanted = new Set<Source | "stored">(["actual", of]);
    if (hasError) wanted.add("error");
    if (/^[su]?i(4|8|16)$/.test(description.dtype)) wanted.add("stored");
    const answers = new Map<Source | "stored", TensorStatistics>();
    for (const kind of wanted) answers.set(kind, await ask("tdb/tensorStatistics", subjects.part(kind)));
    if (turn !== this.turn) return; // the program has stopped elsewhere since
    for (const [kind, answer] of answers) this.found.set(kind, answer);
    this.show(of, size);
    this.on.changed();
  }

  private show(of: Source, size: number): void {
    const [found, error, actual] = [this.found.get(of), this.found.get("error"), this.found.get("actual")];
    if (found === undefined) return;
    this.summary.replaceChildren(
      ...statisticsRows(found, size, of === "actual" ? this.found.get("stored")?.saturated : undefined),
    );
    this.histogram.draw(found);
    if (error) this.worst.replaceChildren(...largestList(error, this.on.goTo.bind(this.on)));
    if (actual) this.largest.replaceChildren(...largestList(actual, this.on.goTo.bind(this.on)));
  }
}
