// How long the views take on a model, measured inside their pages: node latency.mjs MODEL [MODEL ...]
//
// A benchmark, not a test: it prints a table in milliseconds and judges nothing. For each view the time from the start of
// the page's script to its first picture, until all is there, of one interaction until the frame after it, and of a frame
// while it is dragged (median and the longest). PYTHON: an interpreter with tdb_dap; the pages must have been built.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Adapter } from "./adapter.mjs";
import { Stage } from "./stage.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const PYTHON = process.env.PYTHON ?? join(ROOT, ".venv/bin/python");
const SIZE = { width: 640, height: 720 };
const PATIENCE = 120_000;
const FRAMES = 40;

/** By page: what it is opened with, what is there at its first picture and when all is, and one interaction. */
const PAGES = [
  { name: "timeline", first: "canvas[data-ordinal]", complete: ".ranking tbody tr", act: press("canvas", "w"), drag: "canvas" },
  { name: "graph", first: ".node", complete: ".node .face", act: press(".picture > svg", "-"), drag: ".picture > svg" },
  { name: "graph, all blocks open", page: "graph", first: ".node", complete: ".node .face", before: open, act: press(".picture > svg", "-"), drag: ".picture > svg" },
  { name: "chip memory", page: "memory", first: ".chart .resident", complete: ".present tbody tr", act: press(".chart svg", "-"), drag: ".chart svg" },
  { name: "compare", launch: atTheEnd, first: "tbody tr", complete: ".plot .curve", act: press(".table", "ArrowDown"), drag: ".plot" },
  { name: "time", opening: async (adapter) => ({ type: "time", moment: await adapter.request("tdb/time"), ...(await adapter.request("tdb/marks", { compare: false })) }), first: "#ordinal:not(:empty)", complete: "#moment:not(:empty)", act: press("input[type=range]", "ArrowRight"), drag: "input[type=range]" },
  { name: "tensor", opening: { type: "show", subject: { expression: "in[0]" } }, first: "td[data-at]", complete: "body[data-complete=true] #statistics dt", act: press("#map-actual", "+"), drag: "#map-actual" },
];

/** At the end of the program, compared with another run of it. */
function atTheEnd(model) {
  return { stopOnEntry: false, stopOnExit: true, reference: model };
}

function press(selector, key) {
  return (page) => page.evaluate(([selector, key]) => new Promise((resolve) => {
    const element = document.querySelector(selector);
    const start = performance.now();
    element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  }), [selector, key]);
}

/** Open all blocks of the graph and show all of it; the time that takes. */
async function open(page) {
  return page.evaluate(() => new Promise((resolve) => {
    const button = [...document.querySelectorAll("button")].find((element) => element.textContent === "Open blocks");
    const start = performance.now();
    button?.click();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  }));
}

/** Lengths of the frames while something is dragged to and fro, a move in each frame. */
function drag(page, selector) {
  return page.evaluate(([selector, count]) => new Promise((resolve) => {
    const element = document.querySelector(selector);
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 3];
    const send = (kind, step) => element.dispatchEvent(new PointerEvent(kind, { clientX: x + step, clientY: y + step, buttons: 1, pointerId: 1, bubbles: true }));
    element.setPointerCapture = () => undefined;
    const frames = [];
    let last;
    send("pointerdown", 0);
    const frame = (now) => {
      if (last !== undefined) frames.push(now - last);
      last = now;
      if (frames.length === count) {
        send("pointerup", 0);
        resolve(frames.sort((one, other) => one - other));
      } else {
        send("pointermove", 40 * Math.sin(frames.length / 4) + 5);
        requestAnimationFrame(frame);
      }
    };
    requestAnimationFrame(frame);
  }), [selector, FRAMES]);
}

/** Milliseconds since the page's script began until an element is there. */
async function until(page, selector) {
  await page.waitForFunction((selector) => document.querySelector(selector) !== null, selector, { timeout: PATIENCE, polling: "raf" });
  return page.evaluate(() => performance.now() - globalThis.began);
}

const shown = (milliseconds) => (milliseconds === undefined ? "" : milliseconds.toFixed(0));
for (const model of process.argv.slice(2)) {
  const adapter = await Adapter.launch(PYTHON, model);
  const { commands } = await adapter.request("tdb/moment");
  const { nodes } = await adapter.request("tdb/graph", {}).catch(() => ({ nodes: [] }));
  console.log(`\n${model}: ${commands.toLocaleString("en")} commands, ${nodes.length.toLocaleString("en")} ops\n`);
  console.log("| view | first picture | all | interaction | frame, dragged |\n|---|---|---|---|---|");
  await adapter.close();
  for (const { name, page = name, launch = () => ({}), opening, first, complete, before, act, drag: dragged } of PAGES) {
    // Each view in a session of its own: none finds what another has worked out.
    const fresh = await Adapter.launch(PYTHON, model, launch(model));
    const stage = await Stage.open(join(ROOT, "vscode-extension/dist"), fresh, SIZE);
    await stage.show(page, typeof opening === "function" ? await opening(fresh) : opening);
    const picture = await until(stage.page, first);
    const all = await until(stage.page, complete);
    const opened = before && (await before(stage.page));
    const interaction = await act(stage.page);
    const frames = await drag(stage.page, dragged);
    const median = frames[Math.floor(frames.length / 2)];
    console.log(`| ${name} | ${shown(opened ?? picture)} | ${shown(all)} | ${shown(interaction)} | ${shown(median)}, at most ${shown(frames.at(-1))} |`);
    await stage.close();
    await fresh.close();
  }
}
