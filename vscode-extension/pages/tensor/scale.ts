/** Which number has which colour: the range, its ends, and the palette. */
import { html } from "../shared/dom";
import { inserted, t } from "../shared/l10n";
import { PALETTES, short, type Colour, type PaletteName, type Range } from "./colours";

/** Ranges that do not follow from the numbers; those that do have no ends here. */
const RANGES: readonly { readonly name: string; readonly text: string; readonly range?: Range }[] = [
  { name: "all", text: t("minimum to maximum") },
  { name: "symmetric", text: t("symmetric around 0") },
  { name: "unit", text: t("0 to 1"), range: { low: 0, high: 1 } },
  { name: "signed", text: t("-1 to 1"), range: { low: -1, high: 1 } },
  { name: "byte", text: t("0 to 255"), range: { low: 0, high: 255 } },
  { name: "chosen", text: t("from … to …") },
];

export class Scale {
  readonly element = html("span", { class: "group", role: "group", "aria-label": t("Colours") });
  /** Ends of the range, and the palette. */
  readonly details = html("span", { class: "group", role: "group", "aria-label": t("Palette") });
  private readonly kind: HTMLSelectElement;
  private readonly low: HTMLInputElement;
  private readonly high: HTMLInputElement;
  private readonly palette: HTMLSelectElement;

  constructor(private readonly changed: () => void) {
    const end = (label: string) =>
      html("input", {
        type: "number",
        step: "any",
        "aria-label": label,
        change: () => {
          this.choose();
          changed();
        },
      });
    [this.low, this.high] = [end(t("Colours from")), end(t("Colours to"))];
    this.kind = html(
      "select",
      {
        id: "range",
        "aria-label": t("Range of the colours"),
        change: () => {
          this.preset();
          changed();
        },
      },
      ...RANGES.map(({ name, text }) => html("option", { value: name }, text)),
    );
    this.palette = html(
      "select",
      { id: "palette", "aria-label": t("Palette"), change: changed },
      ...(Object.keys(PALETTES) as PaletteName[]).map((name) => html("option", { value: name }, paletteName(name))),
    );
    this.element.append(html("label", {}, ...inserted("Colours {0}", this.kind)));
    this.details.append(...inserted("{0} to {1}", this.low, this.high), this.palette);
  }

  /** The range of the colours, of numbers that go from `low` to `high`. */
  range({ low, high }: Range): Range {
    if (this.kind.value === "symmetric") return symmetric({ low, high });
    if (this.kind.value === "all" || !(this.low.valueAsNumber < this.high.valueAsNumber)) return { low, high };
    return { low: this.low.valueAsNumber, high: this.high.valueAsNumber };
  }

  /** Whether numbers outside of the range are marked: where it was chosen, not where all are within. */
  get marks(): boolean {
    return (
      this.kind.value !== "all" && this.kind.value !== "symmetric" && this.low.valueAsNumber < this.high.valueAsNumber
    );
  }

  get colours(): readonly Colour[] {
    return PALETTES[this.palette.value as PaletteName];
  }

  /** Changes whenever the same number may have another colour. */
  key(found: Range): string {
    const { low, high } = this.range(found);
    return `${String(low)} ${String(high)} ${String(this.marks)} ${this.palette.value}`;
  }

  /** Show the range of the numbers while none is chosen. */
  suggest(found: Range): void {
    const { low, high } = this.range(found);
    this.low.placeholder = short(low);
    this.high.placeholder = short(high);
  }

  /** Choose a range, or undefined: that of all numbers. */
  brush(range: Range | undefined): void {
    this.low.value = range === undefined ? "" : String(range.low);
    this.high.value = range === undefined ? "" : String(range.high);
    this.choose();
    this.changed();
  }

  private preset(): void {
    const range = RANGES.find(({ name }) => name === this.kind.value)?.range;
    const ends = (input: HTMLInputElement, preset: number | undefined) => {
      if (preset !== undefined) return String(preset);
      return this.kind.value === "chosen" ? input.value || input.placeholder : "";
    };
    this.low.value = ends(this.low, range?.low);
    this.high.value = ends(this.high, range?.high);
  }

  private choose(): void {
    this.kind.value = this.low.value === "" && this.high.value === "" ? "all" : "chosen";
  }
}

function paletteName(name: PaletteName): string {
  switch (name) {
    case "viridis":
      return name;
    case "grey":
      return t("grey");
    case "red-blue":
      return t("red-blue");
  }
}

export function symmetric({ low, high }: Range): Range {
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return { low: -most, high: most };
}
