import "../shared/page.css";
import "./compare.css";
import { textOf } from "../../src/protocol/errors";
import type { ComparedRows, Row } from "../../src/compare/results";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { lineText } from "../shared/lines";
import type { Order } from "../shared/order";
import {
  chooseInput,
  chooseReference,
  debug,
  follow,
  openLine,
  showOnlyFailed,
  travel,
  viewTensor,
} from "../shared/session";
import { Table } from "../shared/table";
import { count, labelsOf } from "../shared/text";
import { curveOf, isForeign, shownRows, subjectOf, type ColumnName } from "./model";
import { Plot } from "./plot";
import { columns, verdictName } from "./table";

/** Marks when the table is filled, for the benchmark. */
const COMPLETE = "complete";
/** Comparing replays the program up to now. Where that takes longer, it waits until the user asks for it. */
const FAST_MILLISECONDS = 2000;
/** Pixels of a page with few columns (as in compare.css); letters of a name. */
const NARROW = 560;
const LETTERS = { wide: 44, narrow: 22 } as const;
const NOTHING: ComparedRows = { rows: [], first: null };
const TO_CHOOSE = [t("Choose a reference …"), chooseReference] as const;
const TO_GIVE_INPUTS = [t("Choose an Input …"), chooseInput] as const;
const TO_DEBUG = [t("Start Debugging"), debug] as const;

const status = html("span", { class: "status", role: "status" });
const empty = html("div", { class: "empty" });
const pinned = html("div", { class: "pinned" });
const details = html("section", { class: "details", "aria-live": "polite" });
const text = html("input", {
  type: "search",
  placeholder: t("Filter"),
  "aria-label": t("Filter by op, tensor or line"),
  input: list,
});
const onlyFailed = box("failed", t("only what differs"), () => {
  showOnlyFailed(onlyFailed.input.checked); // in the side bar, too
  list();
});
onlyFailed.input.checked = true;
const onlyResults = box("results", t("only results"), list);
const plot = new Plot(t("1 - cosine, over the ops"), choose);
const classOf = (row: Row) => (isFirst(row) ? `${row.verdict} culprit` : row.verdict);
let labels: ReadonlyMap<string, string> = new Map();
const labelOf = (name: string) => labels.get(name) ?? name;
const table = new Table<Row, ColumnName>(t("Compared tensors"), columns(isFirst, labelOf), classOf, {
  chosen: choose,
  opened: (row) => {
    viewTensor(subjectOf(row).expression, subjectOf(row).ordinal);
  },
  sorted: (chosen) => {
    order = chosen;
    list();
  },
});
let results = NOTHING;
let order: Order<ColumnName> | undefined;
let isFast = true;
let turn = 0;

document.body.append(
  html(
    "div",
    { class: "bar", role: "toolbar", "aria-label": t("Compare") },
    text,
    onlyFailed.element,
    onlyResults.element,
    button(t("Compare up to here"), () => void load(), { title: t("Compare everything up to the present moment") }),
    button(t("Reference …"), chooseReference, { title: t("Choose another reference for this model") }),
    html("span", { class: "fill" }),
    status,
  ),
  empty,
  pinned,
  plot.element,
  html("main", {}, table.element, details),
);

follow({
  load: (isDebugged) => {
    isFast = true;
    return isDebugged ? load() : wait();
  },
  stopped: () => {
    if (isFast) return load();
    status.textContent = t("The program has moved on. Compare up to here to compare again; this takes a while.");
    return Promise.resolve();
  },
  onlyFailed: (isWanted) => {
    onlyFailed.input.checked = isWanted;
    list();
  },
  compared: () => (isFast ? Promise.resolve() : load()),
  ended: () => {
    turn++;
    if (results.rows.length === 0) say(t("Debug a model with a reference to compare it."), TO_DEBUG);
    else status.textContent = t("The session has ended.");
  },
  failed: (why) => {
    say(why, TO_CHOOSE);
  },
});

function box(
  id: string,
  label: string,
  change: () => void,
): { readonly element: HTMLElement; readonly input: HTMLInputElement } {
  const input = html("input", { type: "checkbox", id, change });
  return { input, element: html("span", {}, input, html("label", { for: id }, label)) };
}

window.addEventListener("resize", list);

/** A model that is only looked at computes nothing. */
function wait(): Promise<void> {
  turn++;
  clear();
  say(
    t("This model is not running: debug it with a reference, and each op is compared up to where it stops."),
    TO_DEBUG,
  );
  return Promise.resolve();
}

function clear(): void {
  results = NOTHING;
  pin();
  plot.show(curveOf(results.rows), isFirst);
  details.replaceChildren();
  list();
  status.textContent = "";
}

async function load(): Promise<void> {
  const mine = ++turn;
  const start = performance.now();
  status.textContent = t("Comparing …");
  const found = await ask("tdb/results").catch(textOf);
  if (mine !== turn) return;
  isFast = performance.now() - start < FAST_MILLISECONDS;
  if (typeof found === "string") {
    clear();
    say(found, TO_CHOOSE);
    return;
  }
  results = found;
  if (found.withheld !== "") say(t("Nothing is compared: {0}.", found.withheld), TO_GIVE_INPUTS);
  else if (isForeign(found))
    say(
      t(
        "The reference has none of these {0} tensors: it is of another model, or of other names.",
        count(found.rows.length),
      ),
      TO_CHOOSE,
    );
  else if (found.rows.length === 0) say(t("No op has been executed yet. Step or continue, then look here again."));
  else say("");
  pin();
  plot.show(curveOf(results.rows), isFirst);
  list();
  performance.mark(COMPLETE);
}

/** Above the table; `remedy`: the button that would help, and what it does. */
function say(what: string, remedy?: readonly [string, () => void]): void {
  empty.replaceChildren(
    ...(what === "" ? [] : [html("p", {}, what)]),
    ...(remedy === undefined ? [] : [button(...remedy, { class: "primary" })]),
  );
  empty.hidden = what === "";
}

function isFirst(row: Row): boolean {
  const { first } = results;
  return (
    first !== null &&
    row.line === first.line &&
    row.role === first.role &&
    row.index === first.index &&
    row.name === first.name
  );
}

/** The first that differs stays in sight, however the table is sorted. */
function pin(): void {
  const culprit = results.rows.find(isFirst);
  pinned.replaceChildren(
    ...(culprit === undefined
      ? []
      : [
          html("strong", {}, t("First to differ: {0}", `${culprit.opcode} ${culprit.name}`)),
          " ",
          ...actions(culprit),
          html(
            "div",
            { class: "status" },
            [...culprit.complaints, culprit.blame?.text ?? ""].filter(Boolean).join(" · "),
          ),
        ]),
  );
}

function list(): void {
  const filter = {
    text: text.value.trim().toLowerCase(),
    onlyFailed: onlyFailed.input.checked,
    onlyResults: onlyResults.input.checked,
  };
  const rows = shownRows(results, filter, order);
  const names = rows.map(({ name }) => name);
  labels = labelsOf(names, window.innerWidth > NARROW ? LETTERS.wide : LETTERS.narrow);
  table.show(rows);
  const failed = results.rows.filter(({ verdict }) => verdict === "fail").length;
  const all = t("{0} of {1} tensors differ", count(failed), count(results.rows.length));
  status.textContent = rows.length < results.rows.length ? `${all} · ${t("{0} shown", count(rows.length))}` : all;
}

function choose(row: Row): void {
  table.select(row);
  plot.select(row);
  const { opcode, name, verdict, dtype, note, complaints, blame } = row;
  details.replaceChildren(
    html("strong", {}, `${opcode} ${name}`.trim()),
    " ",
    ...actions(row),
    html("div", {}, [verdictName(verdict), dtype, note, ...complaints, blame?.text ?? ""].filter(Boolean).join(" · ")),
  );
}

function actions(row: Row): Node[] {
  const { expression, ordinal } = subjectOf(row);
  const link = (what: string, press: () => void, title: string) => [
    button(what, press, { class: "link", title }),
    html("span", {}, " "),
  ];
  return [
    ...link(
      t("actual, reference, error"),
      () => {
        viewTensor(expression, ordinal);
      },
      t("View the tensor {0}", expression),
    ),
    ...(row.line > 0
      ? link(
          lineText(row.line),
          () => {
            openLine(row.line);
          },
          t("Go to the line"),
        )
      : []),
    ...link(
      t("travel to command {0}", count(row.first)),
      () => {
        travel(row.first);
      },
      t("Travel to the moment before it"),
    ),
  ];
}
