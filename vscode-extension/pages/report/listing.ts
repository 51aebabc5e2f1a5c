/** A table with a field to filter it, and a choice of the kind of its rows. */
import type { TextTable } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import type { Order } from "../shared/order";
import { Table, type Column } from "../shared/table";
import { count } from "../shared/text";
import { comparedTexts, isShown } from "./model";

/** What is listed, and how it is shown. */
export interface Contents<Item, Name> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly columns: readonly Column<Item, Name>[];
  readonly classOf: (item: Item) => string;
  /** All that an item can be found by. */
  readonly texts: (item: Item) => readonly string[];
  readonly kind: (item: Item) => string;
  readonly compare: (one: Item, other: Item, order: Order<Name>) => number;
  readonly chosen?: (item: Item) => void;
}

export class Listing<Item, Name> {
  readonly element: HTMLElement;
  private readonly field: HTMLInputElement;
  private readonly choice: HTMLSelectElement;
  private readonly count = html("output", { class: "status" });
  private readonly table: Table<Item, Name>;
  private order: Order<Name> | undefined;

  constructor(private readonly contents: Contents<Item, Name>) {
    const { label, items, columns, classOf, kind, chosen } = contents;
    const list = () => {
      this.list();
    };
    this.field = html("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": `Filter: ${label}`,
      input: list,
    });
    const kinds = [...new Set(items.map(kind))].filter(Boolean);
    this.choice = html(
      "select",
      { "aria-label": `Kind: ${label}`, change: list },
      ...["", ...kinds].map((value) => html("option", { value }, value || "all")),
    );
    this.table = new Table(label, columns, classOf, {
      chosen: (item) => {
        this.select(item);
        chosen?.(item);
      },
      opened: () => undefined,
      sorted: (order) => {
        this.order = order;
        this.list();
      },
    });
    this.element = html(
      "section",
      {},
      html("p", { class: "bar" }, this.field, this.choice, this.count),
      this.table.element,
    );
    this.list();
  }

  select(item: Item): void {
    this.table.select(item);
  }

  private list(): void {
    const { items, texts, kind, compare } = this.contents;
    const { order } = this;
    const filter = { text: this.field.value.trim().toLowerCase(), kind: this.choice.value || undefined };
    const shown = items.filter((item) => isShown(texts(item), kind(item), filter));
    if (order !== undefined) shown.sort((one, other) => compare(one, other, order));
    this.table.show(shown);
    const all = `${count(items.length)} rows`;
    this.count.textContent = shown.length === items.length ? all : `${count(shown.length)} of ${all}`;
  }
}

/** A table of texts. */
export function textListing(
  label: string,
  { columns, lines, kind, rows }: TextTable,
): Listing<readonly string[], number> {
  return new Listing<readonly string[], number>({
    label,
    items: rows,
    columns: columns.map((title, name) => ({
      name,
      title,
      cell: (row) =>
        name === lines ? html("td", {}, ...lineLinks(row[name] ?? "")) : html("td", { class: "text" }, row[name] ?? ""),
    })),
    classOf: (row) => row[kind] ?? "",
    texts: (row) => row,
    kind: (row) => row[kind] ?? "",
    compare: (one, other, { column, isDescending }) =>
      comparedTexts(one[column] ?? "", other[column] ?? "", isDescending),
  });
}

/** Numbers of lines, separated by commas, as links to them. */
function lineLinks(text: string): (Node | string)[] {
  return text
    .split(", ")
    .flatMap((number, i) => [i > 0 ? ", " : "", /^[1-9]\d*$/.test(number) ? lineLink(Number(number)) : number]);
}

/** The id of a line of final.mlir in the page. */
export function lineId(line: number): string {
  return `L${String(line)}`;
}

export function lineLink(line: number, text = String(line)): HTMLAnchorElement {
  return html(
    "a",
    {
      href: `#${lineId(line)}`,
      click: (event: MouseEvent) => {
        if (window.parent === window) return;
        // The address of a page in a frame may be that of the page around it.
        event.preventDefault();
        document.getElementById(lineId(line))?.scrollIntoView({ block: "center" });
      },
    },
    text,
  );
}
