// Ways into a session and through its time, in the real VS Code: the editor of a .bmodel, the sample, the time slider.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { lines } = expected;
const { workbench, step } = await openSample("start", { width: 1400, height: 900 });
/** Commands executed and how many there are, as the status bar has it. */
const time = () => eventually("the time in the status bar", async () => {
  const texts = await workbench.page.locator(".statusbar-item").allInnerTexts();
  const found = texts.map((text) => /(\d+)\/(\d+)/.exec(text)).find(Boolean);
  return found && found.slice(1).map(Number);
});
const timeIs = (ordinal) => eventually(`ordinal ${ordinal}`, async () => (await time())[0] === ordinal);

describe("a compiled model", () => {
  step("opens in an editor that says what it is, and debugs it", async () => {
    // Until the extension's contributions have arrived, the file is opened as text.
    const editor = await eventually("the editor", async () => {
      await workbench.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "compilation.bmodel" }).first().dblclick();
      const found = await workbench.webview("table", "BM1684X", 4000).catch(() => undefined);
      if (found === undefined) await workbench.command("View: Close Editor");
      return found;
    });
    assert.match(await editor.getByRole("table", { name: "Inputs" }).textContent(), /f32\[1,3,32,32\]/);
    await workbench.shot("bmodel");
    await editor.getByRole("button", { name: "Start Debugging" }).click();
    assert.equal((await time())[0], 0);
  });

  step("has a slider that shows what comes next, and travels", async () => {
    await workbench.page.locator(".statusbar-item", { hasText: /\d+\/\d+/ }).click();
    const view = await workbench.webview('input[type="range"]');
    const slider = view.locator('input[type="range"]');
    assert.equal(Number(await slider.getAttribute("max")), (await time())[1]);
    await slider.focus();
    for (let ordinal = 1; ordinal <= 5; ordinal++) await workbench.key("ArrowRight");
    await timeIs(5);
    await eventually("the pooling", async () => (await view.locator("#moment").textContent()).includes(`tpu.Pool2D maxpool5_MaxPool, line ${lines.pool}`));
    await workbench.stoppedAt(lines.pool);
    await workbench.shot("time-slider");
    assert.deepEqual(await workbench.audit(view), []);
    await slider.focus();
    await workbench.key("Home");
    await timeIs(0);
    await workbench.stop();
    await eventually("no time", async () => !(await workbench.page.locator(".statusbar-item").allInnerTexts()).some((text) => /\d+\/\d+/.test(text)));
  });

  step("is in the extension, to try", async () => {
    await workbench.command("TDB: Debug the Sample Model");
    assert.deepEqual(await time(), [0, 58]);
    await eventually("a frame of final.mlir", async () => (await workbench.texts("call-stack")).some((text) => text.includes("final.mlir")));
    await workbench.stop();
  });

  step("is what the walkthrough leads to", async () => {
    await workbench.command("Welcome: Open Walkthrough...");
    await workbench.page.locator(".quick-input-list .monaco-list-row", { hasText: "Debug a compiled TPU model" }).first().click();
    await workbench.page.getByText("It comes with the extension").first().waitFor();
    await workbench.shot("walkthrough");
  });
});
