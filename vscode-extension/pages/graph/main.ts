import "../shared/page.css";
import "./graph.css";
import { textOf } from "../../src/protocol/errors";
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { inserted, t } from "../shared/l10n";
import { Search } from "../shared/search";
import { follow, openLine, progressText, saveText } from "../shared/session";
import { count } from "../shared/text";
import { byVerdict, combined, legend, type Colouring, type Paint } from "./model";
import { Picture } from "./picture";
import { Properties } from "./properties";
import { legendElements, zoomButtons } from "./tools";

/** Marks when the graph is drawn first, for the benchmark. */
const COMPLETE = "complete";
const CHOICES: readonly [Colouring, string][] = [
  ["dtype", t("colour: number format")],
  ["time", t("colour: time")],
  ["verdict", t("colour: comparison")],
];
/** Comparing replays the run: where it takes longer, it is done when it is asked for. */
const FAST_MILLISECONDS = 2000;
const choice = html(
  "select",
  {
    "aria-label": t("Colour by"),
    change: () => {
      isChosen = true;
      recolour();
    },
  },
  ...CHOICES.map(([value, text]) => html("option", { value }, text)),
);
const constants = html("input", {
  type: "checkbox",
  id: "constants",
  change: () => {
    load(isDebugged).catch(failed);
  },
});
const status = html("span", { class: "status", role: "status" });
const key = html("div", { class: "bar key" });
const properties = new Properties({
  go: (line) => {
    const node = graph?.nodes.find((one) => one.line === line && one.opcode !== "input");
    if (node !== undefined) picture.select(node);
  },
  fold: (node) => {
    picture.fold(node);
  },
  open: (block) => {
    picture.unfoldBlock(block);
  },
  close: () => {
    properties.hide();
    picture.focus();
  },
});
const folding = button("", () => {
  picture.openAll(!picture.isWhole);
});
const picture: Picture = new Picture({
  chosen: (node, block) => {
    properties.show(node, block, paint(node).note, picture.hasBlocks).catch(failed);
  },
  opened: ({ line }) => {
    openLine(line);
  },
  changed: () => {
    folding.textContent = picture.isWhole ? t("Fold blocks") : t("Open blocks");
  },
  search: () => {
    search.focus();
  },
});
const search = new Search<GraphNode>(t("Search ops"), {
  find: (text) =>
    text === undefined
      ? []
      : (graph?.nodes ?? []).filter(({ name, opcode }) => `${opcode} ${name}`.toLowerCase().includes(text)),
  choose: (node) => {
    picture.select(node);
  },
  left: () => {
    picture.focus();
  },
});
let graph: Graph | undefined;
let paint: (node: GraphNode) => Paint = (node) => ({ color: node.color, note: node.note });
let lines: readonly number[] = [];
/** Whether the colours have been chosen: until then they are the verdicts as soon as there are any. */
let isChosen = false;
let isDebugged = false;

document.body.append(
  html(
    "div",
    { class: "bar", role: "toolbar", "aria-label": t("Graph") },
    choice,
    html("label", { for: "constants" }, ...inserted("{0} constants", constants)),
    ...zoomButtons(picture),
    button(
      t("Now"),
      () => {
        picture.mark(lines);
      },
      { title: t("Show the op that runs next") },
    ),
    folding,
    search.element,
    button(
      t("SVG"),
      () => {
        saveText("graph.svg", picture.svgText());
      },
      { title: t("Save the picture as SVG") },
    ),
    html("span", { class: "fill" }),
    status,
  ),
  key,
  html("div", { class: "parts" }, html("main", { class: "graph" }, picture.element), properties.element),
);

follow({
  load,
  stopped: async () => {
    if (chosen() === "verdict") await colour();
    await mark();
    await preferVerdicts();
  },
  ended: () => {
    status.textContent = graph === undefined ? t("Debug a model to see its graph.") : t("The session has ended.");
  },
  failed,
});

function chosen(): Colouring {
  return choice.value as Colouring;
}

async function load(debugged: boolean): Promise<void> {
  isDebugged = debugged;
  status.textContent = t("Laying out the graph …");
  const found = await ask("tdb/graph", { weights: constants.checked });
  await new Promise(requestAnimationFrame); // the text is seen before the layout takes its time
  graph = found;
  picture.show(graph);
  performance.mark(COMPLETE);
  search.renew();
  await mark();
  await colour();
  await preferVerdicts();
}

/** With a reference the verdicts are of more use than anything else. */
async function preferVerdicts(): Promise<void> {
  if (isChosen || !isDebugged) return;
  const start = performance.now();
  const results = await ask("tdb/results").catch(() => undefined);
  const isCompared = results?.rows.some(({ verdict }) => verdict === "pass" || verdict === "fail") === true;
  if (performance.now() - start > FAST_MILLISECONDS) isChosen = true;
  if (isChosen || !isCompared) return;
  isChosen = true;
  await colour("verdict");
  choice.value = "verdict"; // not before the picture is
}

async function mark(): Promise<void> {
  const moment = await ask("tdb/moment");
  lines = moment.lines;
  picture.mark(lines);
  const ops = t("{0} ops", count(graph?.nodes.length ?? 0));
  status.textContent = `${ops} · ${progressText(moment.ordinal, moment.commands)}`;
}

function recolour(): void {
  colour().catch(failed);
}

async function colour(colouring = chosen()): Promise<void> {
  if (graph === undefined) return;
  let problem = "";
  if (colouring === "verdict") {
    // Without a reference all ops are grey, and the page says why.
    const results = await ask("tdb/results").catch((error: unknown) => {
      problem = textOf(error);
      return { rows: [], first: null, withheld: "" };
    });
    problem ||= results.withheld;
    paint = byVerdict(results);
  } else if (colouring === "dtype") {
    paint = ({ color, note }) => ({ color, note }); // as it came
  } else {
    const { nodes } = await ask("tdb/graph", { color: colouring, weights: constants.checked });
    const painted = new Map(nodes.map(({ id, color, note }) => [id, { color, note }]));
    paint = (node) => painted.get(node.id) ?? { color: node.color, note: node.note };
  }
  picture.paint(paint, combined(colouring));
  key.replaceChildren(
    html("span", { class: "trouble" }, problem),
    ...legendElements(legend(colouring, graph.nodes, paint)),
  );
}

function failed(why: unknown): void {
  status.textContent = textOf(why);
}
