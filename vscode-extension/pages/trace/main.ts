import "../shared/page.css";
import "./trace.css";
import { textOf } from "../../src/protocol/errors";
import type { TraceBody } from "../../src/protocol/generated";
import type { FromModelPage, TracePoint } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { ask, send } from "../shared/host";
import { t } from "../shared/l10n";
import type { Order } from "../shared/order";
import { debug, follow, saveText, travel } from "../shared/session";
import { count } from "../shared/text";
import { Grid } from "./grid";
import {
  columnsOf,
  csvOf,
  firstBeyond,
  hitsOf,
  passed,
  shownHits,
  stopBeyond,
  type Brush,
  type ColumnName,
  type Hit,
} from "./model";
import { placeTitle } from "./titles";
import { clearing, Sparkline } from "./sparkline";
import { Tabs } from "./tabs";

/** Marks when the table is filled, for the benchmark. */
const COMPLETE = "complete";
/** A trace replays the program. Where that takes longer, edits wait until the user asks for it again. */
const FAST_MILLISECONDS = 2000;

/** A table that has been filled. */
interface Filled {
  readonly body: TraceBody;
  readonly hits: readonly Hit[];
  readonly isFast: boolean;
}

const tabs = new Tabs(choose);
const status = html("span", { class: "status", role: "status" });
const remarks = html("div", { class: "remarks", role: "status" });
const empty = html("div", { class: "empty" });
const sparklines = html("div", { class: "sparklines" });
const text = html("input", {
  type: "search",
  placeholder: t("Filter"),
  "aria-label": t("Filter by op, tensor, line or value"),
  input: list,
});
const save = button(
  t("Export CSV"),
  () => {
    if (filled !== undefined) saveText("trace.csv", csvOf(filled.body.expressions, shown));
  },
  { title: t("Save the rows that are shown, with all columns") },
);
const again = button(t("Trace Again"), () => void fill(), { title: t("Evaluate the expressions over the run again") });
const remove = button(t("Remove"), drop, { title: t("Remove this trace") });
const all = clearing(() => {
  select(undefined);
});
const grid = new Grid({
  opened: ({ row }) => {
    travel(row.moment);
  },
  sorted: (chosenOrder) => {
    order = chosenOrder;
    list();
  },
});

let points: readonly TracePoint[] = [];
let chosen: TracePoint | undefined;
let isDebugged = false;
let ordinal = 0;
let turn = 0;
/** By trace point. */
let cache = new Map<string, Filled>();
let filled: Filled | undefined;
let lines: readonly Sparkline[] = [];
let shown: readonly Hit[] = [];
let order: Order<ColumnName> | undefined;
let brush: Brush | undefined;

document.body.append(
  html(
    "div",
    { class: "bar", role: "toolbar", "aria-label": t("Trace") },
    text,
    all,
    save,
    again,
    button(
      t("Trace ..."),
      () => {
        send({ type: "trace" } satisfies FromModelPage);
      },
      { title: t("Ask for other expressions, places and conditions") },
    ),
    remove,
    html("span", { class: "fill" }),
    status,
  ),
  tabs.element,
  empty,
  remarks,
  sparklines,
  html("main", {}, grid.element),
);
clear();

follow({
  load: async (debugged) => {
    isDebugged = debugged;
    cache = new Map();
    if (isDebugged) ({ ordinal } = await ask("tdb/time"));
    await open();
  },
  stopped: async () => {
    const before = ordinal;
    ({ ordinal } = await ask("tdb/time"));
    if (ordinal !== before) mark();
    else await edited();
  },
  traces: async (wanted, key) => {
    points = wanted;
    chosen = points.find((point) => point.key === (key ?? chosen?.key)) ?? points[0];
    await open();
  },
  ended: () => {
    turn++;
    isDebugged = false;
    if (filled === undefined) say(t("Debug a model to trace values over its run."), [t("Start Debugging"), debug]);
    else status.textContent = t("The session has ended.");
  },
  failed: (why) => {
    say(why);
  },
});

function choose(key: string): void {
  chosen = points.find((point) => point.key === key);
  void open();
}

function drop(): void {
  if (chosen !== undefined) send({ type: "dropTrace", key: chosen.key } satisfies FromModelPage);
}

/** Memory has been edited, and what comes after it may be different. */
async function edited(): Promise<void> {
  cache = new Map();
  if (filled?.isFast === true) await fill();
  else if (filled !== undefined) status.textContent = t("Memory has been edited. Trace again to see what follows.");
}

/** Show the chosen trace; it is asked for where it is not known yet. */
async function open(): Promise<void> {
  tabs.show(points, chosen?.key);
  remove.hidden = chosen?.isRemovable !== true;
  const known = chosen === undefined ? undefined : cache.get(keyOf(chosen));
  if (known !== undefined && known === filled) return;
  if (known !== undefined) show(known);
  else await fill();
}

async function fill(): Promise<void> {
  const mine = ++turn;
  if (!isDebugged) {
    clear();
    say(t("This model is not running: debug it to trace values over its run."), [t("Start Debugging"), debug]);
    return;
  }
  if (chosen === undefined) {
    clear();
    say(t("Add a log point in the gutter of final.mlir, with expressions in braces, or choose Trace ... above."));
    return;
  }
  const point = chosen;
  status.textContent = t("Tracing …");
  const start = performance.now();
  const body = await ask("tdb/trace", point.arguments).catch(textOf);
  if (mine !== turn) return;
  if (typeof body === "string") {
    clear();
    say(body);
    return;
  }
  const answer = { body, hits: hitsOf(body.rows), isFast: performance.now() - start < FAST_MILLISECONDS };
  cache.set(keyOf(point), answer);
  show(answer);
  performance.mark(COMPLETE);
}

function keyOf({ arguments: point }: TracePoint): string {
  return JSON.stringify(point);
}

function clear(): void {
  filled = undefined;
  lines = [];
  order = undefined;
  brush = undefined;
  status.textContent = "";
  remarks.replaceChildren();
  sparklines.replaceChildren();
  grid.arrange([], [], []);
  list();
}

/** As wide as a side bar: the values stand next to the moment. */
const narrow = matchMedia("(max-width: 480px)");
narrow.addEventListener("change", () => {
  if (filled !== undefined) show(filled);
});

function show(answer: Filled): void {
  clear();
  filled = answer;
  const { body, hits } = answer;
  say(body.rows.length === 0 ? t("No hits: no place was reached where the condition holds.") : "");
  const cut = t("Only the first {0} of {1} hits are shown.", count(body.rows.length), count(body.hits));
  const texts = [...body.remarks, ...(body.rows.length < body.hits ? [cut] : [])];
  remarks.replaceChildren(...texts.map((remark) => html("p", {}, remark)));
  lines = body.expressions.map(
    (expression, i) =>
      new Sparkline(
        expression,
        body.rows.map(({ values }) => values[i] ?? null),
        {
          brushed: select,
          limited: (limit) => {
            stopBeyondLimit(i, limit);
          },
        },
      ),
  );
  sparklines.replaceChildren(...lines.map(({ element }) => element));
  const columns = columnsOf(body, narrow.matches);
  const titles = columns.map((column) =>
    typeof column === "number" ? (body.expressions[column] ?? "") : placeTitle(column),
  );
  grid.arrange(columns, titles, hits);
  mark();
}

/** The program stands elsewhere. */
function mark(): void {
  drawLines();
  list();
}

function select(rows: Brush | undefined): void {
  brush = rows;
  drawLines();
  list();
}

function drawLines(): void {
  const before = passed(filled?.body.rows ?? [], ordinal);
  for (const line of lines) line.show(brush, before);
}

function list(): void {
  const { hits, body } = filled ?? { hits: [], body: undefined };
  shown = shownHits(hits, { text: text.value.trim().toLowerCase(), brush }, order);
  grid.show(shown, ordinal);
  save.disabled = shown.length === 0;
  again.disabled = body === undefined;
  all.hidden = brush === undefined;
  if (body === undefined) return;
  const found = t("{0} hits at {1} places", count(body.hits), count(body.places));
  status.textContent = shown.length < hits.length ? `${found} · ${t("{0} shown", count(shown.length))}` : found;
}

/** Set a breakpoint where an expression exceeds a limit, if it ever does. */
function stopBeyondLimit(expression: number, limit: number): void {
  if (filled === undefined) return;
  const { body } = filled;
  const row = firstBeyond(body.rows, expression, limit);
  if (row === undefined) {
    status.textContent = t("{0} never exceeds {1}; no breakpoint is set.", body.expressions[expression] ?? "", limit);
    return;
  }
  const { name, condition } = stopBeyond(body, row, expression, limit);
  send({ type: "stopWhere", name, condition } satisfies FromModelPage);
  status.textContent = t("Breakpoint: {0} if {1}, first at moment {2}", name, condition, count(row.moment));
}

/** In the place of the table; `remedy`: the button that would help, and what it does. */
function say(what: string, remedy?: readonly [string, () => void]): void {
  empty.replaceChildren(
    ...(what === "" ? [] : [html("p", {}, what)]),
    ...(remedy === undefined ? [] : [button(...remedy, { class: "primary" })]),
  );
  empty.hidden = what === "";
}
