/** The row of controls, and what is behind the gear. */
import type { FileFormat, Source } from "../../src/protocol/messages";
import { button, html, svg } from "../shared/dom";
import { inserted, t } from "../shared/l10n";
import { MARKS } from "./colours";
import { sourceName } from "./sources";

/** Pixels of a side of a square in the legend. */
const SWATCH = 10;
const FORMATS: readonly (readonly [FileFormat, string])[] = [
  ["npy", t("Save the chosen numbers as npy")],
  ["npz", t("Save actual, reference and error as npz")],
  ["csv", t("Save the chosen numbers as csv")],
  ["png", t("Save the picture of the chosen numbers as png")],
];

export interface Listener {
  /** Other numbers are wanted in the table and the statistics. */
  numbers(): void;
  /** Stored numbers or what they stand for. */
  raw(isRaw: boolean): void;
  /** Compare with another tensor; empty: with the reference. */
  compare(expression: string): void;
  zoom(step: "in" | "out" | "fit"): void;
  save(format: FileFormat): void;
}

/** Parts that have their own files. */
export interface Parts {
  readonly axes: HTMLElement;
  readonly positions: HTMLElement;
  readonly range: HTMLElement;
  readonly palette: HTMLElement;
  readonly pin: HTMLElement;
  readonly following: HTMLElement;
}

export class Controls {
  readonly row: HTMLElement;
  readonly more: HTMLElement;
  readonly key = legend();
  readonly of: HTMLSelectElement;
  readonly bits: HTMLInputElement;
  private readonly raw: HTMLInputElement;
  private readonly rawPart: HTMLElement;

  constructor(
    private readonly on: Listener,
    parts: Parts,
  ) {
    this.of = html("select", {
      id: "of",
      "aria-label": t("Numbers in the table, the statistics and the files"),
      change: () => {
        on.numbers();
      },
    });
    this.bits = html("input", {
      type: "checkbox",
      id: "bits",
      change: () => {
        on.numbers();
      },
    });
    this.raw = html("input", {
      type: "checkbox",
      id: "raw",
      change: () => {
        on.raw(this.raw.checked);
      },
    });
    this.rawPart = labelled(this.raw, t("Raw"), t("The integers in memory, before scale and zero point"));
    const gear = button(
      "⚙",
      () => {
        this.more.hidden = !this.more.hidden;
        gear.setAttribute("aria-expanded", String(!this.more.hidden));
      },
      {
        id: "gear",
        title: t("More settings"),
        "aria-label": t("More settings"),
        "aria-expanded": "false",
        "aria-controls": "more",
      },
    );
    this.row = html(
      "div",
      { class: "bar", role: "toolbar", "aria-label": t("View") },
      parts.positions,
      parts.range,
      this.rawPart,
      this.zoom(),
      html("span", { class: "fill" }),
      gear,
    );
    this.more = html(
      "div",
      { class: "bar more", id: "more", hidden: true, role: "group", "aria-label": t("More settings") },
      parts.axes,
      parts.palette,
      parts.pin,
      parts.following,
      html("label", {}, ...inserted("Numbers {0}", this.of)),
      labelled(this.bits, t("Bits"), t("The words in memory, in the table")),
      this.comparison(),
      this.files(),
    );
  }

  get source(): Source {
    return this.of.value as Source;
  }

  /** `quantised`: whether stored numbers are others than those they stand for. */
  offer(sources: readonly Source[], quantised: boolean, other: string | undefined): void {
    const before = this.of.value;
    this.of.replaceChildren(
      ...sources.map((of) => html("option", { value: of, selected: of === before }, sourceName(of, other))),
    );
    this.rawPart.hidden = !quantised && !this.raw.checked;
  }

  private zoom(): HTMLElement {
    const step = (text: string, to: "in" | "out" | "fit", title: string, label: string) =>
      button(
        text,
        () => {
          this.on.zoom(to);
        },
        { title, "aria-label": label },
      );
    return html(
      "span",
      { class: "group" },
      step("−", "out", t("Zoom out (-)"), t("Zoom out")),
      step("+", "in", t("Zoom in (+)"), t("Zoom in")),
      step(t("Fit"), "fit", t("Show all (0)"), t("Fit")),
    );
  }

  private comparison(): HTMLElement {
    const field = html("input", {
      type: "text",
      id: "other",
      placeholder: t("reference"),
      spellcheck: "false",
      change: () => {
        this.on.compare(field.value.trim());
      },
    });
    const title = t("Another tensor of the same shape in place of the reference, such as out[0] or %16");
    return html("label", { title }, ...inserted("Compare with {0}", field));
  }

  private files(): HTMLElement {
    return html(
      "span",
      { class: "group" },
      html("span", {}, t("Save"), " "),
      ...FORMATS.map(([format, title]) =>
        button(
          format,
          () => {
            this.on.save(format);
          },
          { title },
        ),
      ),
    );
  }
}

function labelled(input: HTMLInputElement, text: string, title: string): HTMLElement {
  return html("span", { title }, input, html("label", { for: input.id }, text));
}

function legend(): HTMLElement {
  return html(
    "div",
    { class: "bar key", role: "group", "aria-label": t("Special colours") },
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
}
