/** The matrix of models by chip and precision. */
import { button, html } from "../shared/dom";
import { count } from "../shared/text";
import type { CaseDialog } from "./zooDialog";
import {
  isModelShown,
  KINDS,
  modelsOf,
  statusClass,
  worstOf,
  type Kind,
  type Model,
  type Zoo,
  type ZooCase,
} from "./zooModel";

/** Models that are shown at once. */
const MODELS = 50;

export function matrix(page: Zoo, dialog: CaseDialog): Node[] {
  const all = [...new Set(page.cases.map(({ column }) => column))].sort();
  const columns = all.slice(0, page.columns);
  const models = modelsOf(page);
  let most = MODELS;
  const again = () => {
    most = MODELS;
    draw();
  };
  const field = html("input", {
    type: "search",
    placeholder: "filter by name",
    "aria-label": "Filter by name",
    input: again,
  });
  const choice = html(
    "select",
    { "aria-label": "Which models", change: again },
    ...KINDS.map((kind) => html("option", {}, kind)),
  );
  const summary = html("span", { class: "status", role: "status" });
  const holder = html("div");
  function draw(): void {
    const text = field.value.trim().toLowerCase();
    const shown = models.filter((model) => isModelShown(page, model, choice.value as Kind, text));
    const hidden = all.length - columns.length;
    summary.textContent =
      `${count(Math.min(most, shown.length))} of ${count(shown.length)} models` +
      (hidden > 0 ? `; ${count(hidden)} columns are left out` : "");
    const head = ["Model", ...columns].map((title) => html("th", { scope: "col" }, title));
    const rows = shown.slice(0, most).map((model) => row(page, model, columns, dialog));
    const more = button("Show more", () => {
      most += MODELS;
      draw();
    });
    holder.replaceChildren(
      html(
        "div",
        { class: "scroll" },
        html("table", { class: "matrix" }, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows)),
      ),
      ...(shown.length > most ? [more] : []),
    );
  }
  draw();
  return [html("p", { class: "bar" }, field, choice, summary), holder];
}

function row(page: Zoo, { name, cells }: Model, columns: readonly string[], dialog: CaseDialog): HTMLElement {
  return html(
    "tr",
    {},
    html("th", { class: "name", scope: "row", title: name }, name),
    ...columns.map((column) => cell(page, cells.get(column) ?? [], dialog)),
  );
}

function cell(page: Zoo, cases: readonly ZooCase[], dialog: CaseDialog): HTMLElement {
  const worst = worstOf(page, cases);
  if (worst === undefined) return html("td");
  const { status, change, key } = worst;
  const alike = cases.filter((one) => one.status === status).length;
  const number = cases.length > 1 ? ` (${String(alike)}/${String(cases.length)})` : "";
  const open = button(
    `${status}${change === "" ? "" : " *"}${number}`,
    () => {
      if (cases.length > 1) dialog.choose(cases);
      else dialog.open(worst);
    },
    { title: change === "" ? key : `${key}, ${change}` },
  );
  return html("td", { class: statusClass(page, status) }, open);
}
