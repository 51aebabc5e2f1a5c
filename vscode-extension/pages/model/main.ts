/** The summary of a compiled model. */
import "../shared/theme.css";
import "./model.css";
import type { FromSummaryPage, ToSummaryPage } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { listen, send } from "../shared/host";

const debug = button(
  "Start Debugging",
  () => {
    send({ type: "debug" } satisfies FromSummaryPage);
  },
  { class: "primary", title: "Debug this model", "aria-label": "Debug this model" },
);
const status = html("p", { role: "status" }, "Reading the model …");

function show(text: string): void {
  const rows = text
    .trim()
    .split("\n")
    .map((line) => /^(\S+(?: \S+)*?) {2,}(.*)$|^(\S+ \d+) +(.*)$/.exec(line) ?? [line, "", line]);
  const cells = rows.map(([line = "", name, value, other, rest]) =>
    html("tr", {}, html("th", { scope: "row" }, name ?? other ?? ""), html("td", {}, value ?? rest ?? line)),
  );
  document.body.replaceChildren(
    html("h1", {}, "Compiled model"),
    debug,
    html("table", {}, html("tbody", {}, ...cells)),
  );
}

document.body.replaceChildren(status);
listen(({ text }: ToSummaryPage) => {
  show(text);
});
