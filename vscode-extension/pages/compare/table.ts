/** The table of compared tensors; rows are made as they come into sight. */
import type { Row, Verdict } from "../../src/compare/results";
import { button, html } from "../shared/dom";
import { t } from "../shared/l10n";
import { METRICS, metricOf, type Column, type Metric, type Order } from "./model";

/** Rows that are made at once. */
const ROWS = 200;
/** Pixels above the end of the table from which on further rows are made. */
const AHEAD = 400;
const DIGITS = 6;

export interface Listener {
  chosen(row: Row): void;
  opened(row: Row): void;
  sorted(order: Order | undefined): void;
}

export class Table {
  readonly element: HTMLElement;
  private readonly body = html("tbody");
  private readonly heads = new Map<Column, HTMLElement>();
  private rows: readonly Row[] = [];
  private order: Order | undefined;
  private selected: Row | undefined;
  private isCulprit: (row: Row) => boolean = () => false;

  constructor(private readonly on: Listener) {
    const columns: readonly Column[] = ["verdict", "line", "opcode", "tensor", ...METRICS.map(({ name }) => name)];
    const head = html("tr", {}, ...columns.map((column) => this.head(column)));
    this.element = html(
      "div",
      { class: "table", tabindex: 0, "aria-label": t("Compared tensors"), role: "region" },
      html("table", { "aria-label": t("Compared tensors") }, html("thead", {}, head), this.body),
    );
    this.element.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.element;
      if (scrollTop + clientHeight > scrollHeight - AHEAD) this.fill(this.body.childElementCount + ROWS);
    });
    this.element.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step !== undefined) this.walk(step);
      else if (event.key === "Enter" && event.target === this.element && this.selected) this.on.opened(this.selected);
      else return;
      event.preventDefault();
    });
  }

  show(rows: readonly Row[], isCulprit: (row: Row) => boolean): void {
    this.rows = rows;
    this.isCulprit = isCulprit;
    this.body.replaceChildren();
    this.fill(ROWS);
  }

  select(row: Row): void {
    this.selected = row;
    const index = this.rows.indexOf(row);
    if (index >= this.body.childElementCount) this.fill(index + ROWS);
    [...this.body.children].forEach((element, i) => {
      element.setAttribute("aria-selected", String(i === index));
    });
    this.body.children[index]?.scrollIntoView({ block: "nearest" });
  }

  private walk(step: number): void {
    const from = this.selected === undefined ? -1 : this.rows.indexOf(this.selected);
    const row = this.rows[Math.min(Math.max(from + step, 0), this.rows.length - 1)];
    if (row !== undefined) this.on.chosen(row);
  }

  private head(column: Column): HTMLElement {
    const metric = METRICS.find(({ name }) => name === column);
    const title = columnName(column);
    const sort = button(
      title,
      () => {
        const isWorst = metric?.isWorseHigh ?? false;
        // First the worst on top, then the best, then the order of execution.
        if (this.order?.column !== column) this.order = { column, isDescending: isWorst };
        else this.order = this.order.isDescending === isWorst ? { column, isDescending: !isWorst } : undefined;
        this.mark();
        this.on.sorted(this.order);
      },
      { class: "link", title: t("Sort by {0}", title) },
    );
    const head = html("th", { scope: "col", class: metric !== undefined && "number" }, sort);
    this.heads.set(column, head);
    return head;
  }

  private mark(): void {
    for (const [column, head] of this.heads) {
      const isSorted = this.order?.column === column;
      if (isSorted) head.setAttribute("aria-sort", this.order?.isDescending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  private fill(to: number): void {
    const from = this.body.childElementCount;
    this.body.append(...this.rows.slice(from, to).map((row) => this.row(row)));
  }

  private row(row: Row): HTMLElement {
    const { verdict, line, opcode, name } = row;
    const isCulprit = this.isCulprit(row);
    const cells = METRICS.map(({ name: metric }) =>
      html("td", { class: "number" }, metricText(metricOf(row, metric), metric)),
    );
    return html(
      "tr",
      {
        class: `${verdict}${isCulprit ? " culprit" : ""}`,
        "aria-selected": String(row === this.selected),
        click: () => {
          this.on.chosen(row);
        },
        dblclick: () => {
          this.on.opened(row);
        },
      },
      html("td", { class: "verdict" }, `${SIGNS[verdict]} ${isCulprit ? t("first to differ") : verdictName(verdict)}`),
      html("td", { class: "number" }, line > 0 ? String(line) : ""),
      html("td", {}, opcode.replace(/^tpu\./, "")),
      html("td", { title: name }, html("span", { class: "status" }, `${roleName(row)} `), name),
      ...cells,
    );
  }
}

const SIGNS: Readonly<Record<Verdict, string>> = { pass: "✓", fail: "✗", unknown: "?", excepted: "–" };

export function verdictName(verdict: Verdict): string {
  switch (verdict) {
    case "pass":
      return t("as expected");
    case "fail":
      return t("differs");
    case "unknown":
      return t("not compared");
    case "excepted":
      return t("left out");
  }
}

function roleName({ role, index }: Row): string {
  switch (role) {
    case "operand":
      return t("in {0}", index);
    case "result":
      return t("out {0}", index);
    case "output":
      return t("output {0}", index);
  }
}

function columnName(column: Column): string {
  switch (column) {
    case "verdict":
      return t("verdict");
    case "line":
      return t("line");
    case "opcode":
      return t("op");
    case "tensor":
      return t("tensor");
    case "cosine":
      return t("cosine");
    case "euclidean":
      return t("euclidean");
    case "sqnr":
      return t("SQNR dB");
    case "max_abs":
      return t("max abs");
    case "max_rel":
      return t("max rel");
    case "max_ulp":
      return t("max ulp");
    case "bad_share":
      return t("bad %");
    case "nan_count":
      return t("NaN");
  }
}

function metricText(value: number | undefined, metric: Metric): string {
  if (value === undefined) return "";
  if (metric === "bad_share") return (100 * value).toPrecision(3);
  return Number.isInteger(value) || !Number.isFinite(value) ? String(value) : String(Number(value.toPrecision(DIGITS)));
}
