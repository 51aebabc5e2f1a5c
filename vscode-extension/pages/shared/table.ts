/** A table that is sorted by its heads and walked with the arrow keys; rows are made as they come into sight. */
import { button, html } from "./dom";
import { t } from "./l10n";
import type { Order } from "./order";

/** Rows that are made at once. */
const ROWS = 200;
/** Pixels above the end of the table from which on further rows are made. */
const AHEAD = 400;
/** Class of the columns that are left out where the page is narrow. */
const WIDE = "wide";

export interface Column<Item, Name> {
  readonly name: Name;
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether the greatest is on top when the head is pressed first: then the least, then the order that rows came in. */
  readonly isDescending?: boolean;
  /** Whether it is left out where the page is narrow. */
  readonly isWide?: boolean;
  readonly cell: (item: Item) => HTMLTableCellElement;
}

export interface Listener<Item, Name> {
  chosen(item: Item): void;
  opened(item: Item): void;
  sorted(order: Order<Name> | undefined): void;
}

export class Table<Item, Name> {
  readonly element: HTMLElement;
  private readonly body = html("tbody");
  private readonly heads = new Map<Name, HTMLElement>();
  private items: readonly Item[] = [];
  private order: Order<Name> | undefined;
  private selected: Item | undefined;

  /** `classOf`: of the row of an item. */
  constructor(
    label: string,
    private readonly columns: readonly Column<Item, Name>[],
    private readonly classOf: (item: Item) => string,
    private readonly on: Listener<Item, Name>,
  ) {
    const head = html("tr", {}, ...columns.map((column) => this.head(column)));
    this.element = html(
      "div",
      { class: "table", tabindex: 0, "aria-label": label, role: "region" },
      html("table", { "aria-label": label }, html("thead", {}, head), this.body),
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

  show(items: readonly Item[]): void {
    this.items = items;
    this.body.replaceChildren();
    this.fill(ROWS);
  }

  select(item: Item): void {
    this.selected = item;
    const index = this.items.indexOf(item);
    if (index >= this.body.childElementCount) this.fill(index + ROWS);
    [...this.body.children].forEach((element, i) => {
      element.setAttribute("aria-selected", String(i === index));
    });
    this.body.children[index]?.scrollIntoView({ block: "nearest" });
  }

  private walk(step: number): void {
    const from = this.selected === undefined ? -1 : this.items.indexOf(this.selected);
    const item = this.items[Math.min(Math.max(from + step, 0), this.items.length - 1)];
    if (item !== undefined) this.on.chosen(item);
  }

  private head({
    name,
    title,
    isNumber = false,
    isDescending = false,
    isWide = false,
  }: Column<Item, Name>): HTMLElement {
    const sort = button(
      title,
      () => {
        if (this.order?.column !== name) this.order = { column: name, isDescending };
        else
          this.order =
            this.order.isDescending === isDescending ? { column: name, isDescending: !isDescending } : undefined;
        this.mark();
        this.on.sorted(this.order);
      },
      { class: "link", title: t("Sort by {0}", title) },
    );
    const head = html("th", { scope: "col", class: `${isNumber ? "number" : ""} ${isWide ? WIDE : ""}` }, sort);
    this.heads.set(name, head);
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
    this.body.append(...this.items.slice(from, to).map((item) => this.row(item)));
  }

  private row(item: Item): HTMLElement {
    return html(
      "tr",
      {
        class: this.classOf(item),
        "aria-selected": String(item === this.selected),
        click: () => {
          this.on.chosen(item);
        },
        dblclick: () => {
          this.on.opened(item);
        },
      },
      ...this.columns.map(({ cell, isWide = false }) => {
        const made = cell(item);
        if (isWide) made.classList.add(WIDE);
        return made;
      }),
    );
  }
}
