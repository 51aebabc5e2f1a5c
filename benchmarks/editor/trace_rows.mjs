// How smoothly the Trace view scrolls 100,000 rows: frames a second of the page in Chromium, by wheel, page and thumb, and
// the processor time of the page's thread for one, which other programs of the machine do not change.
//
// Environment: DIST, the built pages. The rows are made here: what is measured is the page, not the run that fills it.
import { join } from "node:path";
import { Stage } from "../../tests/clients/pages/stage.mjs";
import { eventually } from "../../tests/clients/vscode/workbench.mjs";

const ROWS = Number(process.argv[2] ?? 100_000);
const DIST = process.env.DIST ?? join(import.meta.dirname, "../../vscode-extension/dist");
const FRAMES = 180;
const LEAST = 30; // frames a second that the processor time of one allows

/** Runs in the page: the answer is as large as 100,000 real hits, and does not come through the driver. */
function answerHere(rows) {
  const row = (moment) => ({
    moment, command: `B${moment}`, line: 10 + (moment % 900), op: "tpu.Conv2D", name: `/model.${moment % 23}/cv2/conv/Conv_output_0_Conv`,
    core: moment % 8, slice: `n0 h${moment % 4}`, launch: null, token: null, isAfter: true,
    values: [Math.sin(moment / 50), moment % 127, null], texts: ["", "", "not computed yet"],
  });
  const expressions = ["max(out[0])", "count_nonzero(out[0])", "min(out[0])"];
  const body = { text: "", expressions, place: "", condition: "", rows: Array.from({ length: rows }, (_, i) => row(i)), hits: rows, places: rows, remarks: [] };
  const host = globalThis.toHost;
  globalThis.toHost = (message) =>
    message.request === "tdb/trace" ? globalThis.fromHost({ type: "answer", id: message.id, body }) : host(message);
}

const answers = { "tdb/time": { ordinal: ROWS / 2, commands: ROWS } };
const adapter = { on: () => undefined, request: async (name) => answers[name] ?? {} };
const point = { key: "1", title: "max(out[0])", arguments: { text: "max(out[0])" }, isRemovable: true };

const stage = await Stage.open(DIST, adapter, { width: 1280, height: 800 });
await stage.show("trace", { type: "session", name: "model", isDebugged: true });
await stage.page.evaluate(answerHere, ROWS);
const began = performance.now();
await stage.send({ type: "traces", points: [point], chosen: "1" });
await eventually("the rows", () => stage.page.locator("tbody tr[aria-rowindex]").count(), 60_000);
console.log(`${ROWS.toLocaleString("en")} rows are shown after ${((performance.now() - began) / 1000).toFixed(1)} s`);

const devtools = await stage.page.context().newCDPSession(stage.page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
const busy = async () => {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
};
let dearest = 0;
for (const [way, step] of [["at rest", 0], ["wheel, three rows a frame", 60], ["pages", 600], ["thumb, through all rows", 20 * ROWS / FRAMES]]) {
  const before = await busy();
  const { seconds, longest } = await stage.page.evaluate(async ([frames, step]) => {
    const table = document.querySelector("div.table");
    const frame = () => new Promise(requestAnimationFrame);
    table.scrollTop = 0;
    await frame();
    await frame();
    const begun = performance.now();
    let [before, longest] = [begun, 0];
    for (let i = 0; i < frames; i++) {
      table.scrollTop += step;
      const now = await frame();
      longest = Math.max(longest, now - before);
      before = now;
    }
    return { seconds: (performance.now() - begun) / 1000, longest };
  }, [FRAMES, step]);
  const cost = ((await busy()) - before) / FRAMES;
  dearest = Math.max(dearest, cost);
  console.log(`${way}: ${(FRAMES / seconds).toFixed(0)} frames a second, the longest frame ${longest.toFixed(0)} ms; ${cost.toFixed(1)} ms of processor time a frame`);
}
await stage.close();
process.exitCode = dearest <= 1000 / LEAST ? 0 : 1;
