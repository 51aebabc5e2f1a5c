// Recorded runs in the real VS Code: their editor, their launches, and a session that goes through them both ways.
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const RECORDINGS = fileURLToPath(new URL("../../data/recordings/", import.meta.url));
const PIPELINE = "pipeline_bm1684x.tdbrec";
const CHIPS = ["bm1684", "bm1684x", "bm1688", "bm1690"];
const toy = (chip) => `toy_${chip}.tdbrec`;
for (const name of [PIPELINE, ...CHIPS.map(toy)]) copyFileSync(join(RECORDINGS, name), join(expected.directory, name));

const { workbench, step } = await openSample("recording", { width: 1280, height: 800 });
const { page } = workbench;
const row = (text) => page.locator(".part.sidebar .monaco-list-row", { hasText: text }).first();
const explorer = (name) => page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).first();

/** Open a recording in its editor; the page with its tables. */
const open = (name) => eventually(`the editor of ${name}`, async () => {
  await workbench.key("Control+Shift+E");
  await explorer(name).dblclick();
  return workbench.webview("table", "Launches", 6000).catch(() => undefined);
}, 40_000);

/** The frame of the launch in the call stack. */
const inLaunch = (text) => eventually(`launch ${text}`, async () => (await workbench.texts("call-stack")).some((frame) => frame.includes(text)));

/** Line and op at which the program stands, once they are others than before: values are written beside the op later. */
const moved = (before) => eventually("another op", async () => {
  const yellow = await workbench.yellowLine();
  const op = /"(tpu\.\w+)"/.exec(yellow?.text)?.[1];
  return op !== undefined && `${yellow.line} ${op}` !== before ? `${yellow.line} ${op}` : undefined;
});

const tensorShown = () => workbench.rows("variables").filter({ hasText: /f(16|32) [\d×]+/ }).first().waitFor();

/** Of the toy on each chip, in the order in which a session stands at them. */
const OPS = {
  bm1684: "Load Load Load Load Load Conv2D Pool2D Conv2D Active Pool2D Store MatMul Softmax",
  bm1684x: "Load Load Load Conv2D Pool2D Load Load Conv2D Active Pool2D Store MatMul Softmax",
  bm1688: "Load Load Load Cast Conv2D Load Load Conv2D Pool2D Conv2D Cast Active Pool2D Reshape Cast Store MatMul Softmax Cast",
  bm1690: "Load Load Cast Load Load Conv2D Load Pool2D Conv2D Active Cast Pool2D Reshape Cast MatMul Store MatMul Softmax Cast",
};

const opOf = (place) => place.split(" ")[1];

describe("the editor of a recording", () => {
  step("has its program, its models and its launches, which can be filtered", async () => {
    const editor = await open(PIPELINE);
    for (const title of ["Program", "Models", "Launches", "Nets", "Ops"]) await editor.getByRole("table", { name: title, exact: true }).waitFor();
    assert.match(await editor.getByRole("table", { name: "Program" }).textContent(), /python pipeline\.py.*255/);
    const launches = editor.getByRole("table", { name: "Launches" }).locator("tbody tr:visible");
    assert.equal(await launches.count(), 10);
    await workbench.shot("recording-editor");
    const filter = editor.getByRole("searchbox", { name: "Filter the launches" });
    await filter.fill("dec");
    assert.equal(await launches.count(), 5);
    await filter.fill("7");
    assert.deepEqual(await launches.allTextContents(), [await launches.first().textContent()]);
    assert.match(await launches.first().textContent(), /7dec2×12/);
    await workbench.shot("recording-editor-filter");
    await filter.fill("");
    assert.deepEqual(await workbench.audit(editor), []);
  });
});

describe("a recording of two nets", () => {
  step("is debugged with F5, and stands at the first op of the first launch", async () => {
    await page.locator(".tab.active").click();
    await workbench.key("F5");
    await workbench.rows("variables").first().waitFor();
    await inLaunch("launch 0 of enc (1×16)");
    await moved("");
    await workbench.shot("recording-entry");
  });

  step("is stepped op by op, forwards and back, across launches", async () => {
    await workbench.command("View: Hide Panel");
    let at = await moved("");
    const way = [at];
    for (const launch of ["0 of enc (1×16)", "1 of dec (1×12)", "1 of dec (1×12)", "1 of dec (1×12)"]) {
      await workbench.press("Step Over");
      at = await moved(at);
      await inLaunch(`launch ${launch}`);
      way.push(at);
    }
    assert.deepEqual(way.map(opOf), ["tpu.MatMul", "tpu.MatMul", "tpu.MatMul", "tpu.Active", "tpu.MatMul"]);
    await workbench.shot("recording-launch-1");
    for (const before of way.slice(0, -1).reverse()) {
      await workbench.press("Step Back");
      at = await moved(at);
      assert.equal(at, before);
    }
    await inLaunch("launch 0 of enc");
  });

  step("stops at a breakpoint in the gutter in each launch of that net", async () => {
    // Ops of dec, which runs next.
    let at = await moved("");
    for (const launch of ["0 of enc", "1 of dec"]) {
      await workbench.press("Step Over");
      at = await moved(at);
      await inLaunch(`launch ${launch}`);
    }
    const active = await workbench.lineWith('"tpu.Active"');
    await workbench.clickGutter(active);
    for (const launch of ["1 of dec (1×12)", "3 of dec (4×12)", "5 of dec (7×12)"]) {
      await workbench.press("Continue");
      await inLaunch(`launch ${launch}`);
      await workbench.stoppedAt(active);
    }
    await eventually("the tensor in the shape of this run", async () => (await workbench.texts("variables")).some((text) => text.includes("f32 7×20")));
    await workbench.shot("recording-breakpoint");
    const box = await workbench.restingBox(workbench.lineNumber(active));
    await page.mouse.click(box.x - 8, box.y + box.height / 2);
    await eventually("no breakpoint", async () => !(await workbench.hasGlyph(active, "debug-breakpoint")));
  });

  step("has its launches in the container, where a click travels", async () => {
    await workbench.openContainer();
    await row("being debugged").locator(".monaco-tl-twistie").click();
    await row("Launches").waitFor();
    await page.locator(".pane .monaco-button", { hasText: "Choose a Reference..." }).waitFor();
    await workbench.shot("recording-tree-all-panes");
    for (const pane of ["Time", "Compare", "Findings"]) await workbench.fold(pane); // ten launches need the room
    await row("launch 7").click();
    await workbench.statusBar("221/344").waitFor();
    await row("launch 7").filter({ hasText: "here" }).waitFor();
    await workbench.fold("Time", true);
    const time = await workbench.webview("#launch", "launch 7 of dec (2×12)");
    assert.match(await time.locator("#moment strong").innerText(), /^tpu\.MatMul a_MatMul, line 40$/);
    await workbench.shot("recording-tree");
    await workbench.key("Control+Shift+D");
    await inLaunch("launch 7 of dec (2×12)");
    await workbench.openContainer();
    await row("Launches").hover();
    await row("Launches").locator(".action-label[aria-label*='Go to Launch']").click();
    const input = page.locator(".quick-input-widget input").first();
    await input.waitFor();
    await input.fill("enc");
    await eventually("the launches of enc", async () => (await page.locator(".quick-input-list .monaco-list-row").count()) === 5);
    await workbench.shot("recording-search");
    await input.fill("launch 2");
    await workbench.key("Enter");
    await workbench.statusBar("73/344").waitFor();
    await workbench.key("Control+Shift+D");
    await inLaunch("launch 2 of enc (4×16)");
    await workbench.press("Restart");
    await inLaunch("launch 0 of enc");
    await eventually("the description of this stop", async () =>
      (await page.locator('.pane-header[aria-label^="Call Stack"]').innerText()).includes("At the start"));
  });

  step("has a timeline of what engines and host do, and a graph that fits", async () => {
    await workbench.openContainer();
    await workbench.opened(row("Timeline"), ".ranking", "MatMul c_Relu");
    await workbench.shot("recording-timeline");
    await workbench.opened(row("Graph"), ".minimap", "y_MatMul");
    await eventually("a graph without its minimap, since all is in sight", async () => {
      const graph = await workbench.webview(".minimap", "y_MatMul");
      return graph.locator(".minimap").isHidden().catch(() => false);
    });
    await workbench.shot("recording-graph");
    await workbench.key("Control+Shift+D");
    await workbench.stop();
  });

  step("shows a launch in the disassembly where there is no session", async () => {
    await workbench.command("View: Close All Editors");
    await workbench.openContainer();
    // The rows are renewed after the end of a session, and a click on an old one is lost.
    await eventually("the disassembly", async () => {
      await row("launch 7").click();
      return page.locator(".tab.active", { hasText: ".tdbasm" }).waitFor({ timeout: 5000 }).then(() => true, () => false);
    });
    await page.locator(".view-line", { hasText: "launch 7 of dec" }).first().waitFor();
    await workbench.shot("recording-listing");
    await workbench.command("View: Close All Editors");
  });
});

describe("a recording of a dynamic net", () => {
  for (const chip of CHIPS)
    step(`of ${chip} is debugged from the explorer, op by op to the end and back, with the tensors of each op`, async () => {
      await workbench.key("Control+Shift+E");
      await workbench.choose(explorer(toy(chip)), "Debug Recording");
      await inLaunch("launch 0 of toy (1×3×32×32)");
      const way = [];
      let at = "";
      for (const op of OPS[chip].split(" ")) {
        if (at !== "") await workbench.press("Step Over");
        at = await moved(at);
        way.push(at);
        assert.equal(opOf(at), `tpu.${op}`);
        await tensorShown();
      }
      await workbench.shot(`recording-${chip}-end`);
      for (const before of way.slice(0, -1).reverse()) {
        await workbench.press("Step Back");
        at = await moved(at);
        assert.equal(at, before);
        await tensorShown();
      }
      await workbench.shot(`recording-${chip}-begin`);
      await workbench.stop();
    });
});
