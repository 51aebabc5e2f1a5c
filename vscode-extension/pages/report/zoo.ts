/** The page of a zoo: how a run came out, what has changed, a matrix of models, and lists. */
import type { ZooExcuse, ZooPage, ZooRun } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import { count } from "../shared/text";
import { CaseDialog } from "./zooDialog";
import { matrix } from "./zooMatrix";
import { changesOf, secondsText, statusClass, totals, zooOf, type Zoo } from "./zooModel";
import { caseButton, simpleTable, statusText } from "./zooParts";

/** Changes that are listed. */
const CHANGES = 40;

export function showZoo(data: ZooPage, main: HTMLElement): void {
  const page = zooOf(data);
  const dialog = new CaseDialog(page);
  main.append(
    ...head(page),
    ...changes(page, dialog),
    html("h2", {}, "Models"),
    ...matrix(page, dialog),
    ...runs(page),
    ...excuses("Tolerated no more", page.expired),
    ...excuses("Tolerated", page.tolerated),
    ...flaky(page),
    html("h2", {}, "Slowest"),
    simpleTable(
      ["Case", "Time", "Status"],
      page.slowest.flatMap((i) => {
        const found = page.cases[i];
        return found === undefined ? [] : [[found.key, secondsText(found), found.status]];
      }),
    ),
    dialog.element,
  );
}

function head(page: Zoo): Node[] {
  const { name, run, started, tool, before, failures, cases, expected, complete, gone } = page;
  const outcome =
    failures > 0
      ? `${count(failures)} new ${failures === 1 ? "thing is" : "things are"} wrong`
      : "nothing new is wrong";
  const since = before === null ? "" : `; compared with run ${String(before.run)} of ${before.started}`;
  const part = `${count(cases.length)} of ${count(expected)} cases`;
  return [
    html("h1", {}, `${name}: run ${String(run)}`),
    html("p", { class: "status" }, `${started}, ${tool}${since}`),
    html(
      "p",
      { class: `outcome ${failures > 0 ? "fail" : "pass"}` },
      `${outcome}: ${count(cases.length)} cases, ${totals(page)}.`,
    ),
    ...(complete ? [] : [html("p", { class: "trouble" }, `The run has not come to its end: ${part}.`)]),
    ...(gone.length > 0 ? [html("p", {}, `Not run any more: ${gone.join(", ")}.`)] : []),
  ];
}

function changes(page: Zoo, dialog: CaseDialog): Node[] {
  if (page.before === null) return [];
  const found = changesOf(page.cases);
  const title = html("h2", {}, "What changed");
  if (found.length === 0) return [title, html("p", { class: "status" }, "No case comes out differently.")];
  const more = found.length - CHANGES;
  return [
    title,
    simpleTable(
      ["Case", "Change", "Status", "Time"],
      found
        .slice(0, CHANGES)
        .map((one) => [caseButton(one, dialog), one.change, statusText(page, one.status), secondsText(one)]),
    ),
    ...(more > 0 ? [html("p", { class: "status" }, `and ${count(more)} more: choose "changed" below`)] : []),
  ];
}

function runs(page: Zoo): Node[] {
  const { trend } = page;
  const last = trend.at(-2);
  if (last === undefined) return [];
  return [
    html("h2", {}, "Runs"),
    html("div", { class: "trend" }, ...trend.map((run) => bar(page, run))),
    html("p", { class: "status" }, `Run ${String(last.run)}: ${totals(page, last.counts)}`),
  ];
}

function bar(page: Zoo, { run, started, counts }: ZooRun): HTMLElement {
  const all = counts.reduce((sum, n) => sum + n, 0) || 1;
  const title = `run ${String(run)}, ${started}: ${totals(page, counts)}`;
  const parts = page.statuses.map((status, i) => {
    const part = html("div", { class: statusClass(page, status) });
    part.style.height = `${String((100 * (counts[i] ?? 0)) / all)}%`;
    return part;
  });
  return html("div", { title, role: "img", "aria-label": title }, ...parts);
}

function excuses(title: string, found: readonly ZooExcuse[]): Node[] {
  if (found.length === 0) return [];
  const rows = found.map(({ case: key, what, owner, until }) => [key, what, owner, until]);
  return [html("h2", {}, title), simpleTable(["Case", "What", "Owner", "Until"], rows)];
}

function flaky({ flaky: found }: Zoo): Node[] {
  if (found.length === 0) return [];
  return [
    html("h2", {}, "Not the same twice"),
    html("p", { class: "status" }, "The same files came out differently in the last runs."),
    simpleTable(["Case", "Last runs"], found),
  ];
}
