/** Beside the pictures: the element at the cursor, statistics, and the elements to look at first. */
import type { TensorDescription, TensorStatistics } from "../../src/protocol/generated";
import type { Source, Subject } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { short, type Range } from "./colours";
import { cursorRows, drawHistogram, largestList, statisticsRows } from "./summary";

/** Elements up to which statistics are made unasked: they look at all of them. */
const UNASKED_ELEMENTS = 1 << 24;
/** The cursor may move faster than elements are asked for. */
const PAUSE_MILLISECONDS = 30;

/** Pixels, as in tensor.css. */
const HISTOGRAM = { width: 240, height: 72 } as const;

export class Beside {
  readonly element: HTMLElement;
  private readonly found = new Map<Source | "stored", TensorStatistics>();
  private readonly cursor = html("dl", {
    id: "cursor",
    "aria-live": "polite",
    "aria-label": t("Element at the cursor"),
  });
  private readonly summary = html("dl", { id: "statistics", "aria-label": t("Statistics") });
  private readonly histogram = html("canvas", { ...HISTOGRAM, role: "img", class: "histogram" });
  private readonly ends = html("p", { class: "ends" });
  private readonly worst = html("ol", { id: "worst" });
  private readonly worstSection = html("section", {}, html("h2", {}, t("Worst elements")), this.worst);
  private readonly largest = html("ol", { id: "largest" });
  private asking: number | undefined;
  private turn = 0;

  /** `changed`: there is something new to draw; `goTo`: an element was chosen from a list. */
  constructor(
    private readonly changed: () => void,
    private readonly goTo: (index: readonly number[]) => void,
    private readonly failed: (error: unknown) => void,
  ) {
    const statistics = html("div", { class: "numbers" }, this.summary, html("div", {}, this.histogram, this.ends));
    this.element = html(
      "aside",
      {},
      html("section", {}, html("h2", {}, t("Element")), this.cursor),
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

  point(subject: Subject, index: readonly number[] | undefined, dtype: string): void {
    window.clearTimeout(this.asking);
    if (index === undefined) return;
    this.asking = window.setTimeout(() => {
      ask("tdb/tensorElement", { ...subject, index }).then((element) => {
        this.cursor.replaceChildren(...cursorRows(index, element, dtype));
      }, this.failed);
    }, PAUSE_MILLISECONDS);
  }

  /** Look at all elements, unless there are too many to do that unasked. `of`: whose summary is shown. */
  async summarise(subject: Subject, description: TensorDescription, of: Source, forced = false): Promise<void> {
    const turn = ++this.turn;
    const size = description.shape.reduce((product, extent) => product * extent, 1);
    this.worstSection.hidden = !description.hasReference;
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
              this.summarise(subject, description, of, true).catch(this.failed);
            },
            { title },
          ),
        ),
      );
      return;
    }
    const wanted = new Set<Source | "stored">(["actual", of]);
    if (description.hasReference) wanted.add("error");
    if (/^[su]?i(4|8|16)$/.test(description.dtype)) wanted.add("stored");
    const answers = new Map<Source | "stored", TensorStatistics>();
    for (const kind of wanted) answers.set(kind, await ask("tdb/tensorStatistics", { ...subject, of: kind }));
    if (turn !== this.turn) return; // the program has stopped elsewhere since
    for (const [kind, answer] of answers) this.found.set(kind, answer);
    this.show(of, size);
    this.changed();
  }

  private show(of: Source, size: number): void {
    const [found, error, actual] = [this.found.get(of), this.found.get("error"), this.found.get("actual")];
    if (found === undefined) return;
    this.summary.replaceChildren(
      ...statisticsRows(found, size, of === "actual" ? this.found.get("stored")?.saturated : undefined),
    );
    drawHistogram(this.histogram, found);
    this.ends.replaceChildren(html("span", {}, short(found.minimum)), html("span", {}, short(found.maximum)));
    if (error) this.worst.replaceChildren(...largestList(error, this.goTo));
    if (actual) this.largest.replaceChildren(...largestList(actual, this.goTo));
  }
}
