/** What the tables about models are made of. */
import type { FromEditorPage, Link } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { send, takesKeyboard } from "../shared/host";
import { t } from "../shared/l10n";
import type { Order } from "../shared/order";
import { Table } from "../shared/table";
import { count, labelsOf } from "../shared/text";
import { hasWords, sorted, type Field } from "./rows";

/** A table with more rows than this has a filter. */
const SHORT = 12;
/** Letters of a name in a table, as many as there is room for; its hover has all of it. */
const LETTERS = { least: 10, most: 44 };
/** Pixels of a letter, and of what stands beside a name. */
const LETTER = 7;
const OTHERS = 220;

/** A column of a table: `cell`: what stands for its value. */
export interface Column<Item> extends Field<Item> {
  readonly isWide?: boolean;
  /** Whether it has the room that the others leave, and is cut off beyond that. */
  readonly isElastic?: boolean;
  readonly cell?: (item: Item) => Node | string;
}

/** How the rows of a table are filtered, in place of words in their texts. */
export interface Search<Item> {
  readonly placeholder: string;
  readonly label: string;
  readonly isMeant: (item: Item, text: string) => boolean;
}

export function follow(link: Link): void {
  send({ type: "follow", link, takesKeyboard: takesKeyboard() } satisfies FromEditorPage);
}

/** `title`: its hover. */
export function link(text: string, to: Link, title: string): HTMLButtonElement {
  return button(
    text,
    () => {
      follow(to);
    },
    { class: "link", title },
  );
}

/** Names of one list as they are shown, and with all their letters in the hover. */
export function shortNames(names: readonly string[]): (name: string) => string {
  const room = Math.floor((window.innerWidth - OTHERS) / LETTER);
  const labels = labelsOf(names, Math.min(LETTERS.most, Math.max(LETTERS.least, room)));
  return (name) => labels.get(name) ?? name;
}

/**
 * A heading and a table that is sorted by its heads, of some length with a filter; nothing where there are no rows.
 *
 * `opened`: a row, by Enter or a double click.
 */
export function table<Item>(
  title: string,
  columns: readonly Column<Item>[],
  items: readonly Item[],
  { search, opened }: { search?: Search<Item>; opened?: (item: Item) => void } = {},
): HTMLElement[] {
  if (items.length === 0) return [];
  let order: Order<string> | undefined;
  const show = () => {
    const isMeant = search?.isMeant ?? ((item: Item, text: string) => hasWords(columns, item, text));
    const found = items.filter((item) => isMeant(item, field.value));
    rows.show(sorted(columns, found, order));
    matches.textContent =
      found.length === items.length ? "" : t("{0} of {1}", count(found.length), count(items.length));
  };
  const rows: Table<Item, string> = new Table<Item, string>(
    title,
    columns.map(({ title: name, isNumber = false, isWide = false, isElastic = false, value, cell }) => ({
      name,
      title: name,
      isNumber,
      isWide,
      cell: (item: Item) =>
        html("td", { class: isNumber ? "number" : isElastic ? "elastic" : "" }, cell?.(item) ?? String(value(item))),
    })),
    () => "",
    {
      chosen: (item) => {
        rows.select(item);
      },
      opened: (item) => opened?.(item),
      sorted: (chosen) => {
        order = chosen;
        show();
      },
    },
  );
  const matches = html("span", { class: "matches", role: "status" });
  const field = html("input", {
    type: "search",
    placeholder: search?.placeholder ?? t("Filter"),
    "aria-label": search?.label ?? t("Filter: {0}", title),
    input: show,
  });
  const filter =
    search === undefined && items.length <= SHORT ? [] : [html("div", { class: "filter" }, field, matches)];
  show();
  return [html("section", {}, html("h2", {}, title), ...filter, rows.element)];
}

/** What a few words say of something, by what they are. */
export function facts(title: string, rows: readonly (readonly [string, string])[]): HTMLElement[] {
  if (rows.length === 0) return [];
  const cells = (row: readonly string[]) => row.map((text) => html("td", {}, text));
  const body = html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row))));
  return [html("section", {}, html("h2", {}, title), html("table", { "aria-label": title }, body))];
}

export function line(number: number, listing: number): HTMLButtonElement {
  return number > 0
    ? link(t("line {0}", number), { to: "line", line: number }, t("Show in final.mlir"))
    : link(t("listing"), { to: "listing", line: listing }, t("Show in the disassembly"));
}
