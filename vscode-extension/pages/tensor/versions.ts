/** Every version of a tensor's memory: who wrote it, who read it, its picture, and what it changed. */
import { textOf } from "../../src/protocol/errors";
import type { TensorHistory, TensorVersion } from "../../src/protocol/generated";
import type { Subject } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { draw } from "../shared/picture";
import { count } from "../shared/text";
import { latestAt, readersText, subtract, writerText, type Plane } from "./versionTexts";

/** Pixels of the longer side of a thumbnail. */
const SIDE = 64;

export class Versions {
  readonly element = html("section", { class: "versions", "aria-label": t("Versions"), hidden: true });
  private subject: Subject | undefined;
  private ordinal = 0;

  /** `go`: to a moment. */
  constructor(private readonly go: (ordinal: number) => void) {}

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  async toggle(open = !this.isOpen): Promise<void> {
    this.element.hidden = !open;
    await this.look();
  }

  /** Show those of another tensor, or the same at another moment; edits are new versions. */
  async show(subject: Subject, ordinal: number): Promise<void> {
    this.subject = subject;
    this.ordinal = ordinal;
    await this.look();
  }

  private async look(): Promise<void> {
    const { subject } = this;
    if (!this.isOpen || subject === undefined) return;
    if (this.element.childElementCount === 0) this.element.replaceChildren(t("Looking for versions ..."));
    const { expression, focus, level } = subject;
    const answer = await ask("tdb/tensorHistory", { expression, focus, level }).catch(textOf);
    if (subject !== this.subject) return;
    this.element.replaceChildren(...(typeof answer === "string" ? [answer] : this.list(answer)));
  }

  private list({ versions, elements, isComplete, remark }: TensorHistory): Node[] {
    const latest = latestAt(versions, this.ordinal);
    const rows = versions.map((version, i) => this.row(version, versions[i - 1], elements, i === latest));
    const notes = [
      ...(isComplete ? [] : [t("There are more versions.")]),
      ...(remark === "" ? [] : [t("The run ends early: {0}", remark)]),
    ];
    return [html("ol", {}, ...rows), ...notes.map((note) => html("p", {}, note))];
  }

  private row(version: TensorVersion, before: TensorVersion | undefined, elements: number, isShown: boolean): Node {
    const { moment, numbers, changed, largest, thumbnail } = version;
    const by = largest === null ? t("by a number that is not finite") : t("by up to {0}", largest.toPrecision(4));
    const change = before === undefined ? undefined : t("{0} of {1} changed {2}", count(changed), count(elements), by);
    const difference = before && changed > 0 ? subtract(thumbnail, before.thumbnail) : undefined;
    const writer = button(writerText(version), () => {
      this.go(moment);
    });
    writer.title = t("Show this version");
    return html(
      "li",
      { "aria-current": isShown && "step" },
      picture(thumbnail, t("First plane")),
      difference && picture(difference, t("Difference from the version before")),
      html(
        "div",
        {},
        writer,
        html("span", {}, numbers),
        html("span", {}, change),
        html("span", {}, readersText(version)),
      ),
    );
  }
}

function picture(plane: Plane, title: string): HTMLCanvasElement {
  const canvas = draw(plane, title, SIDE);
  canvas.title = title;
  return canvas;
}
