/** The history strip: every op that writes to the tensor's memory, or to one element; each leads to its moment. */
import { textOf } from "../../src/protocol/errors";
import type { TensorWriter } from "../../src/protocol/generated";
import type { Subject } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { count } from "../shared/text";
import { Versions } from "./versions";

export class History {
  readonly element = html("nav", { class: "history", "aria-label": t("Writers of this tensor") });
  private index: readonly number[] | undefined;
  private writers: readonly TensorWriter[] = [];
  private key = "";
  private shown = 0;

  readonly versions: Versions;

  /** `go`: to a moment; undefined: to the present one. */
  constructor(private readonly go: (ordinal: number | undefined) => void) {
    this.versions = new Versions(go);
  }

  showVersions(): void {
    void this.versions.toggle(true);
  }

  /** All writers of the tensor, or with an index those of an element. */
  async show(subject: Subject, ordinal: number, index = this.index): Promise<void> {
    this.index = index;
    this.shown = ordinal;
    const { expression, focus, level } = subject;
    const key = JSON.stringify([expression, focus, level, index]);
    if (key !== this.key) {
      this.key = key;
      this.writers = [];
      const found = await ask("tdb/tensorWriters", {
        expression,
        focus,
        level,
        ...(index && { index: [...index] }),
      }).catch(textOf);
      if (key !== this.key) return;
      if (typeof found === "string") {
        this.element.replaceChildren(); // computed, not in memory: it has no history
        return;
      }
      this.writers = found.writers;
    }
    this.draw();
    await this.versions.show(subject, ordinal);
  }

  private draw(): void {
    const { writers, shown, index } = this;
    // The last writer that is done at the moment shown.
    const latest = writers.reduce((last, { last: end }, i) => (end < shown ? i : last), -1);
    const step = (text: string, to: number, label: string) => {
      const writer = writers[to];
      return button(
        text,
        () => {
          if (writer !== undefined) this.go(writer.last + 1);
        },
        { title: label, "aria-label": label, disabled: writer === undefined },
      );
    };
    const chips = writers.map((writer, i) => {
      const { opcode, name, first, last } = writer;
      const title = t("{0} {1}, commands {2} to {3}", opcode, name, count(first), count(last));
      return button(
        opcode.replace(/^tpu\./, ""),
        () => {
          this.go(last + 1);
        },
        { class: "chip", title, "aria-label": title, "aria-current": i === latest && "step" },
      );
    });
    const of = index === undefined ? t("History") : t("History of [{0}]", index.join(", "));
    this.element.replaceChildren(
      html("span", {}, writers.length === 0 ? t("{0}: written by no command", of) : of),
      step("◀", latest - 1, t("Previous writer")),
      step("▶", latest + 1, t("Next writer")),
      button(
        t("Now"),
        () => {
          this.go(undefined);
        },
        { title: t("Show the present moment") },
      ),
      button(t("Versions"), () => void this.versions.toggle(), {
        id: "versions",
        title: t("Every version: who wrote and read it, its picture"),
      }),
      html("span", { class: "chips" }, ...chips),
    );
    this.element.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
