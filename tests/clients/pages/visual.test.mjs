// Each page at the width of a split editor and of a side bar, in the colours of three themes of VS Code and enlarged:
// whether texts overlap or are cut off by the window, marks stand out from the ground, and axe has complaints.
//
// Environment: NETWORK (output of network.py), CORES (a model of eight cores), RECORDING, LANGUAGE (output of
// tests/llm_case.py), PYTHON; the pages must have been built. SHOTS: pictures are left there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "../vscode/workbench.mjs";
import { Adapter } from "./adapter.mjs";
import { Stage } from "./stage.mjs";
import { faults } from "./visual.mjs";

const { NETWORK, CORES, RECORDING, LANGUAGE, PYTHON, SHOTS } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const DIST = join(here, "../../../vscode-extension/dist");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Colours and fonts as VS Code gives them to a page. */
const THEMES = JSON.parse(readFileSync(join(here, "themes.json"), "utf8"));
/** At 150 % a column of 460 pixels has room for 307. */
const SIZES = [[460, 430], [307, 287], [250, 430]];
const session = (name) => ({ type: "session", name, isDebugged: true });
const time = async (adapter) => ({ type: "time", moment: await adapter.request("tdb/time"), ...(await adapter.request("tdb/marks", { compare: true })) });
const tensor = { type: "show", subject: { expression: "in[0]" }, history: false };
const model = async (adapter) => ({ type: "contents", contents: await adapter.request("tdb/model") });
const point = { key: "1", title: "max(out[0]), name(out[0])", arguments: { text: "max(out[0]), min(out[0]), mean(out[0])" }, isRemovable: true };
const traces = { type: "traces", points: [point, { ...point, key: "2", title: "max(in[0]) if max(in[0]) > 1" }], chosen: "1" };

/** By name: the page, the program, what it is opened with, sent and set to then, and what is there once it is complete. */
const VIEWS = [
  { name: "compare", page: "compare", complete: "tr.culprit" },
  { name: "graph", page: "graph", choice: "verdict", complete: ".node.culprit .face" },
  { name: "timeline", page: "timeline", complete: ".ranking tbody tr" },
  { name: "memory", page: "memory", complete: ".present tbody tr" },
  { name: "time", page: "time", opening: time, complete: "#moment:not(:empty)" },
  { name: "tensor", page: "tensor", opening: tensor, complete: "body[data-complete=true] #statistics dt" },
  { name: "tensor-versions", page: "tensor", opening: { ...tensor, history: true }, complete: ".versions li canvas" },
  { name: "trace", page: "trace", then: traces, complete: ".sparkline path" },
  { name: "model", page: "model", opening: model, complete: "section tbody tr" },
  { name: "model-cores", page: "model", program: "cores", opening: model, complete: "section tbody tr" },
  { name: "model-recording", page: "model", program: "recording", opening: model, complete: "section tbody tr" },
  { name: "answer", page: "answer", program: "language", complete: ".candidates tbody tr" },
  { name: "timeline-cores", page: "timeline", program: "cores", complete: ".ranking tbody tr" },
  { name: "memory-cores", page: "memory", program: "cores", complete: ".present tbody tr" },
];

describe("the pages", () => {
  const adapters = {};
  before(async () => {
    const { directory } = JSON.parse(readFileSync(NETWORK, "utf8"));
    adapters.network = await Adapter.launch(PYTHON, directory);
    await adapters.network.request("tdb/travel", { ordinal: 937 }); // behind the wrong result
    adapters.cores = await Adapter.launch(PYTHON, CORES);
    await adapters.cores.request("tdb/travel", { ordinal: 60 });
    adapters.recording = await Adapter.launch(PYTHON, RECORDING);
    const asked = { prompt: [5, 17, 30], tokens: 12, reference: join(LANGUAGE, "float"), stopOnDifference: false };
    adapters.language = await Adapter.launch(PYTHON, join(LANGUAGE, "exclamation"), asked);
    const stopped = adapters.language.event("stopped");
    await adapters.language.request("continue", { threadId: 1 });
    await stopped; // at the end, with the answer
  });
  after(() => Promise.all(Object.values(adapters).map((adapter) => adapter.close())));

  for (const { name, page, program = "network", opening, then, choice, complete } of VIEWS)
    describe(name, () => {
      for (const [width, height] of SIZES)
        it(`${width} x ${height}`, async () => {
          const adapter = adapters[program];
          const stage = await Stage.open(DIST, adapter, { width, height });
          try {
            const complaints = [];
            for (const [theme, { body, ...values }] of Object.entries(THEMES)) {
              const variables = Object.entries(values).map(([key, value]) => `${key}: ${value}`).join("; ");
              const first = typeof opening === "function" ? await opening(adapter) : (opening ?? session(name));
              await stage.show(page, first, { variables, body });
              if (then !== undefined) await stage.send(then);
              if (choice !== undefined) await stage.page.locator("select").first().selectOption(choice);
              await eventually(`${complete} of ${name}`, () => stage.page.locator(complete).count(), 60_000);
              await stage.page.waitForTimeout(300);
              if (SHOTS !== undefined) await stage.page.screenshot({ path: join(SHOTS, `visual-${name}-${width}-${body}.png`) });
              complaints.push(...(await stage.page.evaluate(faults)).map((fault) => `${theme}: ${fault}`));
              await stage.page.evaluate(AXE);
              complaints.push(...(await stage.page.evaluate(violations)).map((fault) => `${theme}: ${fault}`));
            }
            assert.deepEqual(complaints, []);
            assert.deepEqual(stage.errors, []);
          } finally {
            await stage.close();
          }
        });
    });
});

async function violations() {
  const found = await globalThis.axe.run(document, { resultTypes: ["violations"] });
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}
