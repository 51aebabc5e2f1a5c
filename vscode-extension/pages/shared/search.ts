/** A search field with its matches one after the other. */
import { button, html } from "./dom";
import { t } from "./l10n";
import { count } from "./text";

export class Search<Match> {
  readonly element: HTMLElement;
  private readonly field: HTMLInputElement;
  private readonly number = html("span", { class: "matches", role: "status" });
  private matches: readonly Match[] = [];
  private at = -1;

  /** `find`: all matches of a text in small letters, or nothing is searched for; `left`: the field is not wanted. */
  constructor(
    what: string,
    private readonly on: {
      find: (text: string | undefined) => readonly Match[];
      choose: (match: Match) => void;
      left: () => void;
    },
  ) {
    this.field = html("input", {
      type: "search",
      placeholder: t("Search"),
      "aria-label": what,
      title: t("{0} (/); Enter goes to the next one", what),
      input: () => {
        this.find();
      },
      keydown: (event: KeyboardEvent) => {
        if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") this.clear();
        else return;
        event.preventDefault();
      },
    });
    const step = (text: string, by: number, label: string) =>
      button(
        text,
        () => {
          this.next(by);
        },
        { title: label, "aria-label": label },
      );
    this.element = html(
      "span",
      { class: "bar search", role: "search" },
      this.field,
      step("↑", -1, t("Previous match")),
      step("↓", 1, t("Next match")),
      this.number,
    );
  }

  /** Search again: what is searched in has changed. */
  renew(): void {
    if (this.field.value !== "") this.find();
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  private clear(): void {
    this.field.value = "";
    this.find();
    this.on.left();
  }

  private find(): void {
    const wanted = this.field.value.trim().toLowerCase();
    this.at = -1;
    this.matches = this.on.find(wanted === "" ? undefined : wanted);
    const { length } = this.matches;
    this.number.textContent = wanted === "" ? "" : length === 1 ? t("1 match") : t("{0} matches", count(length));
  }

  private next(step: number): void {
    const { length } = this.matches;
    if (length === 0) return;
    this.at = this.at < 0 && step < 0 ? length - 1 : (this.at + step + length) % length;
    const match = this.matches[this.at];
    if (match !== undefined) this.on.choose(match);
    this.number.textContent = t("{0} of {1}", count(this.at + 1), count(length));
  }
}
