/** The strip of an answer: tokens across, nets down; each cell is a launch. */
import { button, html } from "../shared/dom";
import { t } from "../shared/l10n";
import { keyOf, tokenText, type Cell, type Strip } from "./model";

/** A sign for each verdict, so that no cell depends on its colour. */
const SIGNS = { right: "✓", wrong: "✗", unknown: "·" } as const;
const STEPS: Readonly<Partial<Record<string, readonly [number, number]>>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class StripTable {
  readonly element = html("div", { class: "strip" });
  private focus = "";

  constructor(
    private readonly on: {
      readonly chosen: (cell: Cell) => void;
      readonly pointed: (cell: Cell | undefined) => void;
    },
  ) {
    this.element.addEventListener("keydown", (event) => {
      this.move(event);
    });
  }

  show(strip: Strip): void {
    const head = html(
      "tr",
      {},
      html("th", { scope: "col" }, t("Net")),
      ...strip.tokens.map(({ number, id, text, expected }) =>
        html(
          "th",
          { scope: "col", class: expected !== null && expected !== id ? "differs" : "", title: t("token {0}", number) },
          tokenText(id, text),
        ),
      ),
    );
    const body = strip.rows.map((row) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, row),
        ...strip.tokens.map(({ number }) => html("td", {}, this.cell(strip.cells.get(keyOf(row, number))))),
      ),
    );
    const keeps = this.element.contains(document.activeElement);
    this.element.replaceChildren(html("table", {}, html("thead", {}, head), html("tbody", {}, ...body)));
    const wanted = this.find(this.focus) ?? this.element.querySelector<HTMLElement>("button");
    wanted?.setAttribute("tabindex", "0");
    if (keeps) wanted?.focus();
  }

  private cell(cell: Cell | undefined): Node | undefined {
    if (cell === undefined) return undefined;
    const { row, token, launch } = cell;
    const key = keyOf(row, token);
    const label = [t("token {0}", token), launch.net, stateText(cell), launch.why].filter(Boolean).join(", ");
    return button(
      launch.state === "now"
        ? "▶"
        : launch.state === "ahead" && launch.verdict === "unknown"
          ? ""
          : SIGNS[launch.verdict],
      () => {
        this.on.chosen(cell);
      },
      {
        class: `${launch.state} ${launch.verdict}`,
        "data-key": key,
        "aria-label": label,
        tabindex: -1,
        focus: () => {
          this.focus = key;
          this.on.pointed(cell);
        },
        mouseenter: () => {
          this.on.pointed(cell);
        },
        mouseleave: () => {
          this.on.pointed(undefined);
        },
      },
    );
  }

  private find(key: string): HTMLElement | undefined {
    return [...this.element.querySelectorAll<HTMLElement>("button")].find(({ dataset }) => dataset.key === key);
  }

  /** Arrow keys go from cell to cell. */
  private move(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    const at = event.target instanceof HTMLElement ? event.target.closest("td") : null;
    if (step === undefined || at === null) return;
    const here = at.closest("tr");
    const rows = [...(here?.parentElement?.children ?? [])];
    const row = here === null ? undefined : rows[rows.indexOf(here) + step[1]];
    const column = [...(here?.children ?? [])].indexOf(at) + step[0];
    const next = row?.children[column]?.querySelector("button");
    if (next === null || next === undefined) return;
    event.preventDefault();
    at.querySelector("button")?.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
}

/** What is known of a launch, in words. */
export function stateText({ launch }: Cell): string {
  if (launch.state === "now") return t("running now");
  if (launch.verdict === "unknown") return launch.state === "ahead" ? t("not run yet") : t("not compared");
  return launch.verdict === "wrong" ? t("wrong") : t("as in float");
}
