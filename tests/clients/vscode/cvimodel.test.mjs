// A .cvimodel (Milk-V Duo, MaixCAM) in the real VS Code: its editor, a breakpoint in final.mlir, a tensor, a step back.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const POOL = 30; // in final.mlir of the toy: the max pooling of conv's result
const { workbench, step } = await openSample("cvimodel", { folder: process.env.CVIMODEL, width: 1400, height: 900 });

describe("a .cvimodel", () => {
  step("opens in an editor that says what it is", async () => {
    // Until the extension's contributions have arrived, the file is opened as text.
    const editor = await eventually("the editor", async () => {
      await workbench.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "model.cvimodel" }).first().dblclick();
      const found = await workbench.webview("table", "CV181X", 4000).catch(() => undefined);
      if (found === undefined) await workbench.command("View: Close Editor");
      return found;
    });
    assert.match(await editor.getByRole("table", { name: "Inputs" }).textContent(), /f32\[1,3,32,32\]/);
    await workbench.shot("cvimodel");
  });

  step("stops at a breakpoint in final.mlir with F5, without a launch.json", async () => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(POOL);
    await workbench.key("F5");
    const yellow = await workbench.stoppedAt(POOL);
    assert.match(yellow.text, /"tpu\.Pool2D"/);
    const frames = await eventually("the frames", async () => {
      const texts = await workbench.texts("call-stack");
      return texts.length >= 3 ? texts : undefined;
    });
    assert.ok(frames.some((text) => text.includes("pool.max") || text.includes(".tdbasm")), frames.join(" | "));
  });

  step("shows the quantised operand in its lanes", async () => {
    await workbench.widenDebugView({ width: 480, rows: 16 });
    const tensor = workbench.rows("variables").filter({ hasText: "si8 1×16×32×32" }).first();
    await tensor.waitFor();
    await workbench.expand(tensor);
    await workbench.shot("cvimodel-tensor");
  });

  step("steps over the op, and back again; the end is a stop, where Step Back works", async () => {
    await workbench.key("F10");
    await eventually("the yellow line to move", async () => {
      const yellow = await workbench.yellowLine();
      return yellow && yellow.line !== POOL;
    });
    await workbench.press("Step Back");
    await workbench.stoppedAt(POOL);
    await workbench.command("Remove All Breakpoints");
    await workbench.key("F5");
    await workbench.console("softmax16_Softmax_f32 = f32").waitFor();
    await workbench.statusBar("59/59").waitFor();
    await workbench.press("Step Back");
    await eventually("the last op", async () => (await workbench.yellowLine())?.text.includes('"tpu.'));
    await workbench.stop();
  });
});
