/** The summary of a compiled model. */
import "../shared/theme.css";
import "./model.css";
import type { FromSummaryPage, ToSummaryPage } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { listen, send } from "../shared/host";
import { t } from "../shared/l10n";

const debug = button(
  t("Start Debugging"),
  () => {
    send({ type: "debug" } satisfies FromSummaryPage);
  },
  { class: "primary", title: t("Debug this model") },
);
const status = html("p", { role: "status" }, t("Reading the model …"));

function show(text: string): void {
  const rows = text
    .trim()
    .split("\n")
    .map((line) => /^(\S+(?: \S+)*?) {2,}(.*)$|^(\S+ \d+) +(.*)$/.exec(line) ?? [line, "", line]);
  const cells = rows.map(([line = "", name, value, other, rest]) =>
    html("tr", {}, html("th", { scope: "row" }, name ?? other ?? ""), html("td", {}, value ?? rest ?? line)),
  );
  document.body.replaceChildren(
    html("h1", {}, t("Compiled model")),
    debug,
    html("table", {}, html("tbody", {}, ...cells)),
  );
}

document.body.replaceChildren(status);
listen(({ text }: ToSummaryPage) => {
  show(text);
});
