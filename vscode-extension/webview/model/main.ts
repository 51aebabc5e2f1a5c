/** The summary of a compiled model. */
import { button, make } from "../dom";
import { listen, tell } from "../host";
import "./model.css";

const debug = button("Start Debugging", "Debug this model", () => { tell({ type: "debug" }); });
const status = make("p", { role: "status" }, "Reading the model …");

function show(text: string): void {
  const rows = text.trim().split("\n").map((line) => /^(\S+(?: \S+)*?) {2,}(.*)$|^(\S+ \d+) +(.*)$/.exec(line) ?? [line, "", line]);
  const cells = rows.map(([line = "", name, value, other, rest]) =>
    make("tr", {}, make("th", { scope: "row" }, name ?? other ?? ""), make("td", {}, value ?? rest ?? line)));
  document.body.replaceChildren(make("h1", {}, "Compiled model"), debug, make("table", {}, make("tbody", {}, ...cells)));
}

document.body.replaceChildren(status);
listen((message) => { show((message as unknown as { readonly text: string }).text); });
tell({ type: "ready" });
