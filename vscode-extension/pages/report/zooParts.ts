/** Parts of the page of a zoo and of its dialog. */
import { button, html } from "../shared/dom";
import { statusClass, type Zoo, type ZooCase } from "./zooModel";

/** A table without controls; the first cell of a row is a name. */
export function simpleTable(titles: readonly string[], rows: readonly (readonly (Node | string)[])[]): HTMLElement {
  const head = html("tr", {}, ...titles.map((title) => html("th", { scope: "col" }, title)));
  const cells = (row: readonly (Node | string)[]) =>
    row.map((cell, i) => html("td", { class: i === 0 ? "text name" : "text" }, cell));
  const body = html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row))));
  return html("div", { class: "scroll" }, html("table", {}, html("thead", {}, head), body));
}

export function statusText(page: Zoo, status: string): HTMLElement {
  return html("span", { class: `state ${statusClass(page, status)}` }, status);
}

/** The key of a case; a press opens it. */
export function caseButton(found: ZooCase, dialog: { open(found: ZooCase): void }): HTMLElement {
  return button(
    found.key,
    () => {
      dialog.open(found);
    },
    { class: "link" },
  );
}
