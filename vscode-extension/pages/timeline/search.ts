/** The search field: ops and commands by their names. */
import { button, html } from "../shared/dom";
import { t } from "../shared/l10n";
import { count } from "../shared/text";
import type { Slice, Timeline } from "./model";
import type { Found } from "./rows";

export class Search {
  readonly element: HTMLElement;
  private readonly field = html("input", {
    type: "search",
    placeholder: t("Search"),
    "aria-label": t("Search ops and commands"),
    title: t("Search ops and commands (/); Enter goes to the next one"),
    input: () => {
      this.find();
    },
    keydown: (event: KeyboardEvent) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") {
        this.field.value = "";
        this.find();
        this.left();
      } else return;
      event.preventDefault();
    },
  });
  private readonly number = html("span", { class: "status", role: "status" });
  private timeline: Timeline | undefined;
  private matches: Found[] = [];
  private at = -1;

  /** `left`: the field is not wanted any more. */
  constructor(
    private readonly highlight: (matches: ReadonlySet<Slice> | undefined) => void,
    private readonly choose: (found: Found) => void,
    private readonly left: () => void,
  ) {
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

  of(timeline: Timeline): void {
    this.timeline = timeline;
    if (this.field.value !== "") this.find();
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  private find(): void {
    const wanted = this.field.value.trim().toLowerCase();
    this.at = -1;
    this.matches = [];
    if (wanted === "") {
      this.number.textContent = "";
      this.highlight(undefined);
      return;
    }
    for (const track of this.timeline?.tracks ?? []) {
      for (const slices of [track.ops, track.commands])
        for (const slice of slices)
          if (slice.name.toLowerCase().includes(wanted)) this.matches.push({ slice, slices, track });
    }
    this.matches.sort((one, other) => one.slice.start - other.slice.start);
    this.number.textContent = this.matches.length === 1 ? t("1 match") : t("{0} matches", count(this.matches.length));
    this.highlight(new Set(this.matches.map(({ slice }) => slice)));
  }

  private next(step: number): void {
    const { length } = this.matches;
    if (length === 0) return;
    this.at = this.at < 0 && step < 0 ? length - 1 : (this.at + step + length) % length;
    const found = this.matches[this.at];
    if (found !== undefined) this.choose(found);
    this.number.textContent = t("{0} of {1}", count(this.at + 1), count(length));
  }
}
