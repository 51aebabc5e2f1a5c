/** The table of hits. Only the rows in sight are made: it scrolls as well with 100,000 rows as with ten. */
import { button, html } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Order } from "../shared/order";
import { cellText, lettersOf, rowsInSight, sideOf, type ColumnName, type Hit } from "./model";

/** Pixels of a row, as in trace.css. */
const ROW = 20;
/** Letters of a column at most, and pixels between two. */
const MOST_LETTERS = 28;
const PADDING = 10;

/** Of all rows the head is the first, and rows count from 1. */
const HEAD = 2;

/** Columns whose text starts at the left. */
const TEXTS: ReadonlySet<ColumnName> = new Set(["command", "op", "name", "slice"]);

export class Grid {
  readonly element: HTMLElement;
  private readonly columnGroup = html("colgroup");
  private readonly head = html("tr");
  private readonly body = html("tbody");
  private readonly table: HTMLTableElement;
  /** In the place of the rows before and after those in sight. */
  private readonly before = html("tr", { class: "space", "aria-hidden": "true" });
  private readonly after = html("tr", { class: "space", "aria-hidden": "true" });
  private rows: HTMLTableRowElement[] = [];
  private columns: readonly ColumnName[] = [];
  private titles: readonly string[] = [];
  private hits: readonly Hit[] = [];
  private order: Order<ColumnName> | undefined;
  private ordinal = 0;
  private selected: Hit | undefined;
  private isWaiting = false;

  constructor(
    private readonly on: {
      readonly opened: (hit: Hit) => void;
      readonly sorted: (order: Order<ColumnName> | undefined) => void;
    },
  ) {
    this.table = html("table", { "aria-label": t("Trace") }, this.columnGroup, html("thead", {}, this.head), this.body);
    this.element = html(
      "div",
      { class: "table", tabindex: 0, role: "region", "aria-label": t("Trace"), keydown: this.keydown.bind(this) },
      this.table,
    );
    this.element.addEventListener("scroll", () => {
      this.redraw();
    });
    new ResizeObserver(() => {
      this.redraw();
    }).observe(this.element);
  }

  /** Columns with their titles; their widths are those of `all`, whatever is shown of them. */
  arrange(columns: readonly ColumnName[], titles: readonly string[], all: readonly Hit[]): void {
    this.columns = columns;
    this.rows = [];
    this.body.replaceChildren();
    this.titles = titles;
    this.order = undefined;
    this.selected = undefined;
    this.element.scrollTop = 0;
    const widths = columns.map((column, i) => {
      const texts = all.map(({ row }) => cellText(row, column));
      return lettersOf(titles[i] ?? "", texts, MOST_LETTERS);
    });
    this.columnGroup.replaceChildren(
      ...widths.map((letters) => {
        const column = html("col");
        column.style.width = widthOf(letters);
        return column;
      }),
    );
    this.table.style.width = `calc(${["0px", ...widths.map(widthOf)].join(" + ")})`;
    this.drawHead();
  }

  show(hits: readonly Hit[], ordinal: number): void {
    this.hits = hits;
    this.ordinal = ordinal;
    this.table.setAttribute("aria-rowcount", String(hits.length + 1));
    this.draw();
  }

  private redraw(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const { from, to } = rowsInSight(scrollTop, clientHeight, ROW, this.hits.length);
    this.before.style.height = `${String(from * ROW)}px`;
    this.after.style.height = `${String((this.hits.length - to) * ROW)}px`;
    while (this.rows.length < to - from) this.rows.push(this.makeRow());
    const shown = this.rows.slice(0, to - from);
    shown.forEach((row, i) => {
      this.fill(row, from + i);
    });
    if (this.body.childElementCount !== shown.length + 2) this.body.replaceChildren(this.before, ...shown, this.after);
  }

  /** A row without content: rows are made once and filled again while the table scrolls. */
  private makeRow(): HTMLTableRowElement {
    const row = html(
      "tr",
      {
        click: () => {
          this.open(Number(row.ariaRowIndex) - HEAD);
        },
      },
      ...this.columns.map((column) => html("td", { class: classOf(column) }, " ")),
    );
    return row;
  }

  private fill(row: HTMLTableRowElement, index: number): void {
    const hit = this.hits[index];
    if (hit === undefined) return;
    const side = sideOf(hit.row.moment, this.ordinal);
    row.className = side;
    row.title = side === "ahead" ? t("Still ahead; a click travels there") : t("A click travels there");
    row.ariaRowIndex = String(index + HEAD);
    row.ariaSelected = String(hit === this.selected);
    this.columns.forEach((column, i) => {
      const text = row.cells[i]?.firstChild;
      const value = cellText(hit.row, column) || " "; // the text node stays
      if (text && text.nodeValue !== value) text.nodeValue = value;
    });
  }

  private open(index: number): void {
    const hit = this.hits[index];
    if (hit === undefined) return;
    this.select(index);
    this.on.opened(hit);
  }

  private drawHead(): void {
    this.head.replaceChildren(
      ...this.columns.map((column, i) => {
        const title = this.titles[i] ?? "";
        const isSorted = this.order?.column === column;
        return html(
          "th",
          {
            scope: "col",
            class: classOf(column),
            "aria-sort": isSorted && (this.order?.isDescending === true ? "descending" : "ascending"),
          },
          button(
            title,
            () => {
              this.sort(column);
            },
            { class: "link", title: t("Sort by {0}", title), "data-column": column },
          ),
        );
      }),
    );
  }

  /** The greatest values first, then the least, then the order of the run; places the other way round. */
  private sort(column: ColumnName): void {
    const isDescending = typeof column === "number";
    if (this.order?.column !== column) this.order = { column, isDescending };
    else if (this.order.isDescending === isDescending) this.order = { column, isDescending: !isDescending };
    else this.order = undefined;
    this.drawHead();
    this.head.querySelector<HTMLElement>(`[data-column="${String(column)}"]`)?.focus();
    this.on.sorted(this.order);
  }

  private keydown(event: KeyboardEvent): void {
    if (event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const steps: Partial<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step !== undefined) this.select((this.selected === undefined ? -1 : this.hits.indexOf(this.selected)) + step);
    else if (event.key === "Enter" && this.selected !== undefined) this.on.opened(this.selected);
    else return;
    event.preventDefault();
  }

  /** Select a row, and scroll to it. */
  private select(index: number): void {
    const to = Math.min(Math.max(index, 0), this.hits.length - 1);
    this.selected = this.hits[to];
    const room = this.element.clientHeight - (this.head.clientHeight || ROW);
    const { scrollTop } = this.element;
    this.element.scrollTop = Math.min(Math.max(scrollTop, (to + 1) * ROW - room), to * ROW);
    this.draw();
  }
}

/** As CSS has it, with the space between two. */
function widthOf(letters: number): string {
  return `calc(${String(letters)}ch + ${String(PADDING)}px)`;
}

function classOf(column: ColumnName): string {
  return TEXTS.has(column) ? "" : "number";
}
