/** What the tables about models are made of. */
import type { FromEditorPage, Link } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { send } from "../shared/host";
import { t } from "../shared/l10n";

export type Cell = Node | string;

export function follow(link: Link): void {
  send({ type: "follow", link } satisfies FromEditorPage);
}

export function link(text: string, to: Link, title: string): HTMLButtonElement {
  return button(
    text,
    () => {
      follow(to);
    },
    { class: "link", title },
  );
}

/** A table with a heading; nothing where there are no rows. Columns in `numbers` are aligned right. */
export function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  numbers: readonly number[] = [],
): HTMLElement[] {
  if (rows.length === 0) return [];
  const kind = (index: number) => (numbers.includes(index) ? "number" : "");
  const cells = (row: readonly Cell[]) => row.map((cell, index) => html("td", { class: kind(index) }, cell));
  return [
    html(
      "section",
      {},
      html("h2", {}, title),
      html(
        "table",
        { "aria-label": title },
        html("thead", {}, html("tr", {}, ...head.map((text, i) => html("th", { scope: "col", class: kind(i) }, text)))),
        html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row)))),
      ),
    ),
  ];
}

export function line(number: number, listing: number): Cell {
  return number > 0
    ? link(t("line {0}", number), { to: "line", line: number }, t("Show in final.mlir"))
    : link(t("listing"), { to: "listing", line: listing }, t("Show in the disassembly"));
}
