// How smoothly the Trace view scrolls 100,000 rows: frames a second of the page in Chromium, by wheel, page and thumb.
//
// Environment: DIST, the built pages. The rows are made here: what is measured is the page, not the run that fills it.
import { join } from "node:path";
import { Stage } from "../../tests/clients/pages/stage.mjs";
import { eventually } from "../../tests/clients/vscode/workbench.mjs";

const ROWS = Number(process.argv[2] ?? 100_000);
const DIST = process.env.DIST ?? join(import.meta.dirname, "../../vscode-extension/dist");
const FRAMES = 180;
const LEAST = 30; // frames a second

const row = (moment) => ({
  moment, command: `B${moment}`, line: 10 + (moment % 900), op: "tpu.Conv2D", name: `/model.${moment % 23}/cv2/conv/Conv_output_0_Conv`,
  core: moment % 8, slice: `n0 h${moment % 4}`, launch: null, token: null, values: [Math.sin(moment / 50), moment % 127, null],
});
const body = {
  title: "max(out[0]), count_nonzero(out[0]), min(out[0])", expressions: ["max(out[0])", "count_nonzero(out[0])", "min(out[0])"],
  rows: Array.from({ length: ROWS }, (_, moment) => row(moment)), hits: ROWS, places: ROWS, isComplete: true, remark: "",
};
const answers = { "tdb/trace": body, "tdb/moment": { ordinal: ROWS / 2, commands: ROWS, lines: [] }, "tdb/time": { ordinal: ROWS / 2, commands: ROWS } };
const adapter = { on: () => undefined, request: async (name) => answers[name] ?? {} };
const point = { key: "1", title: body.title, arguments: { text: body.title }, isRemovable: true };

const stage = await Stage.open(DIST, adapter, { width: 1280, height: 800 });
await stage.show("trace", { type: "session", name: "model", isDebugged: true });
const began = performance.now();
await stage.send({ type: "traces", points: [point], chosen: "1" });
await eventually("the rows", () => stage.page.locator("tbody tr[aria-rowindex]").count(), 60_000);
console.log(`${ROWS.toLocaleString("en")} rows are shown after ${((performance.now() - began) / 1000).toFixed(1)} s`);

let slowest = Infinity;
for (const [way, step] of [["wheel, three rows a frame", 60], ["pages", 600], ["thumb, through all rows", 20 * ROWS / FRAMES]]) {
  const { seconds, longest, first } = await stage.page.evaluate(async ([frames, step]) => {
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
    return { seconds: (performance.now() - begun) / 1000, longest, first: document.querySelector("tbody tr[aria-rowindex]").textContent };
  }, [FRAMES, step]);
  slowest = Math.min(slowest, FRAMES / seconds);
  console.log(`${way}: ${(FRAMES / seconds).toFixed(0)} frames a second, the longest frame ${longest.toFixed(0)} ms; first row ${first.slice(0, 24)}`);
}
await stage.close();
process.exitCode = slowest >= LEAST ? 0 : 1;
