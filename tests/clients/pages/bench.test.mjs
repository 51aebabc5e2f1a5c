// The pages on a network of 300 ops with long names, as wide as a column beside the source: what can be read there.
//
// Environment: NETWORK (output of network.py), PYTHON; the pages must have been built. SHOTS: pictures are left there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "../vscode/workbench.mjs";
import { Adapter } from "./adapter.mjs";
import { Stage } from "./stage.mjs";

const { NETWORK, PYTHON, SHOTS } = process.env;
const DIST = join(dirname(fileURLToPath(import.meta.url)), "../../../vscode-extension/dist");
const network = JSON.parse(readFileSync(NETWORK, "utf8"));
const SIZE = { width: 460, height: 430 };
/** As VS Code's dark theme. */
const THEME = { variables: "--vscode-font-family: sans-serif; --vscode-font-size: 13px; --vscode-editor-background: #1f1f1f; --vscode-editor-foreground: #cccccc; --vscode-descriptionForeground: #9d9d9d; --vscode-errorForeground: #f85149" };
const SESSION = { type: "session", name: "net", isDebugged: true };

let adapter, stage;
before(async () => {
  adapter = await Adapter.launch(PYTHON, network.directory, { stopOnEntry: false });
  stage = await Stage.open(DIST, adapter, SIZE);
});
after(async () => {
  await stage?.close();
  await adapter?.close();
});

async function show(page, selector) {
  await stage.show(page, SESSION, THEME);
  await eventually(`${selector} in ${page}`, () => stage.page.locator(selector).count(), 60_000);
}

async function shot(name) {
  if (SHOTS !== undefined) await stage.page.screenshot({ path: join(SHOTS, `bench-${name}.png`) });
}

/** Texts of elements, each with the full name that its hover has. */
const labels = (selector, fullOf) => stage.page.locator(selector).evaluateAll(
  (all, fullOf) => all.map((one) => [one.textContent.trim(), new Function("one", `return ${fullOf}`)(one)]), fullOf);

/** Labels that stand for several names. */
function alike(pairs) {
  const names = new Map();
  for (const [label, name] of pairs) names.set(label, new Set([...(names.get(label) ?? []), name]));
  return [...names].filter(([, of]) => of.size > 1).map(([label]) => label);
}

/** Whether elements are in the window, with all of their width. */
const inSight = (selector) => stage.page.locator(selector).evaluateAll((all) => all.every((one) => {
  const { left, right } = one.getBoundingClientRect();
  return left >= 0 && right <= window.innerWidth;
}));

describe("beside the source, on a network with long names", () => {
  it("is of the size of real ones", () => assert.ok(network.ops >= 300, network.ops));

  it("Compare has what differs with the metrics that are read first, in sight", async () => {
    await show("compare", "tr.culprit");
    const heads = await stage.page.locator("th:visible").allInnerTexts();
    assert.deepEqual(heads.map((text) => text.trim()), ["verdict", "tensor", "cosine", "max abs", "bad %"]);
    assert.ok(await inSight("th:last-child, tr.culprit td:nth-child(11)"), "the last column, too");
    assert.deepEqual(await stage.page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.className)), ["fail culprit", "fail"]);
    assert.ok((await stage.page.locator("td.name").first().getAttribute("title")) === network.wrong.name);
    await shot("compare");
    await stage.page.getByLabel("only what differs").uncheck();
    await eventually("all tensors", async () => (await stage.page.locator("tbody tr").count()) > 100);
    const names = await labels("td.name", "one.title");
    assert.deepEqual(alike(names), []);
    assert.ok(await inSight("tbody tr:first-child td.name ~ td:not(.wide)"));
    await shot("compare-all");
  });

  it("the graph tells its boxes apart", async () => {
    await show("graph", ".node .face");
    await stage.page.getByRole("button", { name: "Open blocks" }).click();
    await stage.page.locator(".picture > svg").press("+");
    const names = await eventually("many boxes", async () => {
      const found = await labels(".node:not(.block) text.name", `one.parentElement.querySelector("title").textContent.split("\\n")[1]`);
      return found.length > 20 ? found : undefined;
    });
    assert.deepEqual(alike(names), []);
    const wide = await stage.page.locator(".node").evaluateAll((all) => all.filter((node) => {
      const box = node.querySelector(".face").getBoundingClientRect();
      return [...node.querySelectorAll("text")].some((text) => text.getBoundingClientRect().width > box.width + 1);
    }).length);
    assert.equal(wide, 0, "no name is wider than its box");
    await shot("graph");
  });

  it("the timeline's ops are told apart, with their numbers in sight", async () => {
    await show("timeline", ".ranking tbody tr");
    assert.deepEqual(alike(await labels(".ranking td:first-child button", "one.title")), []);
    assert.ok(await inSight(".ranking th:last-child"));
    await shot("timeline");
  });
});
