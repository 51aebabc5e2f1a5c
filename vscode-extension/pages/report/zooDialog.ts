/** What is known of a case, over the page. */
import type { ZooDetail } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
import { count } from "../shared/text";
import { short } from "../tensor/colours";
import { heatMap } from "./errors";
import { secondsText, type Zoo, type ZooCase } from "./zooModel";
import { caseButton, simpleTable, statusText } from "./zooParts";

export class CaseDialog {
  readonly element = html("dialog");

  constructor(private readonly page: Zoo) {}

  open(found: ZooCase): void {
    const { key, model, column, status, detail } = found;
    const isFine = status === this.page.statuses[0];
    const nothing = isFine
      ? "Nothing is wrong and nothing has changed."
      : "The page holds the details of the first cases only; the store has the rest.";
    this.show(
      html("h1", {}, key),
      html("p", {}, `${model}, ${column}: ${status} in ${secondsText(found)}`),
      ...(detail === undefined ? [html("p", { class: "status" }, nothing)] : this.details(detail, status)),
    );
  }

  /** Let the user choose one of several cases. */
  choose(cases: readonly ZooCase[]): void {
    const rows = cases.map((one) => [caseButton(one, this), statusText(this.page, one.status), secondsText(one)]);
    this.show(simpleTable(["Case", "Status", "Time"], rows));
  }

  private show(...parts: readonly Node[]): void {
    const close = button("Close", () => {
      this.element.close();
    });
    this.element.replaceChildren(html("p", {}, close), ...parts);
    if (!this.element.open) this.element.showModal();
  }

  private details(known: ZooDetail, status: string): Node[] {
    const { text, command, was, findings, more, ops, pictures } = known;
    const parts: Node[] = [];
    if (was !== "" && was !== status) parts.push(html("p", {}, `It was: ${was}.`));
    if (text !== "") parts.push(html("p", { class: "trouble" }, text));
    if (command !== "") parts.push(html("p", {}, "See it with"), html("code", {}, command));
    if (findings.length > 0) {
      const state = (isNew: boolean, isTolerated: boolean) =>
        isTolerated ? "tolerated" : isNew && this.page.before !== null ? "new" : "";
      parts.push(
        html("h2", {}, "Findings"),
        simpleTable(
          ["What", "Kind", ""],
          findings.map(({ text: what, rule, isNew, isTolerated }) => [what, rule, state(isNew, isTolerated)]),
        ),
      );
    }
    if (more > 0) parts.push(html("p", { class: "status" }, `and ${count(more)} more`));
    if (ops.length > 0) parts.push(html("h2", {}, "Ops"), opsTable(ops));
    return [...parts, ...pictures.map(({ name, heat }) => heatMap(heat, `${name}: errors; down: channels`))];
  }
}

function opsTable(ops: ZooDetail["ops"]): HTMLElement {
  const number = (value: ZooDetail["ops"][number]["error"]) => (value === null ? "" : short(Number(value)));
  return simpleTable(
    ["Tensor", "Op", "Line", "Verdict", "Cosine", "Largest error", "Was"],
    ops.map(({ name, opcode, line, verdict, cosine, error, was }) => [
      name,
      opcode,
      line > 0 ? String(line) : "",
      verdict,
      number(cosine),
      number(error),
      was,
    ]),
  );
}
