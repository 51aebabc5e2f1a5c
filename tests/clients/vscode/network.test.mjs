// A network of 300 ops with long names in the real VS Code, in a window of 1280 x 800: from F5 to the op at fault.
//
// Environment: as for sample.mjs; EXPECTED: output of network.py.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { wrong, later } = expected;
const { workbench, step } = await openSample("network", { width: 1280, height: 800 });
const { page } = workbench;
let table;

/** Editors side by side. */
const columns = () => page.locator(".editor-group-container").count();
/** Whether the keyboard is in a text editor. */
const isInEditor = () => page.evaluate(() => document.activeElement?.closest(".editor-instance .monaco-editor") != null);

describe("on a network with long names", () => {
  step("F5 twice leads to the op that is at fault", async () => {
    await workbench.openFile("final.mlir");
    await page.locator(".codelens-decoration").first().waitFor(); // the extension is there
    await workbench.key("F5");
    await eventually("the first stop", () => workbench.yellowLine());
    await workbench.key("F5");
    await page.locator(".exception-widget", { hasText: "mismatch" }).waitFor();
    await workbench.stoppedAt(wrong.line);
  });

  step("which Compare shows by itself, beside the source, without taking the keyboard", async () => {
    table = await workbench.webview("tr.culprit");
    assert.equal(await table.locator("tr.culprit td.name").getAttribute("title"), wrong.name);
    const [op] = await workbench.texts("call-stack");
    assert.match(op, /^tpu\.Conv2D \/model\.8\/m\.0.*…/, "the end of its name is in sight, too");
    assert.equal(await columns(), 2);
    assert.ok(await isInEditor());
    const heads = table.locator("th:visible");
    assert.ok((await heads.count()) >= 5, await heads.allInnerTexts());
    const { x, width } = await heads.last().boundingBox();
    const { width: room } = await page.locator(".editor-group-container").last().boundingBox();
    assert.ok(x >= 0 && width <= room);
    await page.locator(".activitybar .badge", { hasText: /^\d+$/ }).first().waitFor();
    await workbench.shot("network-culprit");
  });

  step("a stop after it says above its line what has differed, and leads there", async () => {
    await workbench.openFile("final.mlir");
    await workbench.key("Control+G");
    await page.keyboard.type(String(later.line));
    await workbench.key("Enter");
    await workbench.key("F9");
    await eventually("the later stop", async () => {
      await workbench.key("F5");
      return eventually("it", async () => (await workbench.yellowLine())?.line === later.line, 3000).catch(() => false);
    });
    const lens = page.locator(".codelens-decoration a", { hasText: `line ${wrong.line} differs first` });
    await lens.waitFor();
    assert.equal(await columns(), 2);
    await workbench.shot("network-lens");
    await lens.click();
    await workbench.stoppedAt(wrong.line);
  });

  step("stands at the end, and goes back", async () => {
    await workbench.command("Remove All Breakpoints");
    await workbench.command("View: Show Run and Debug");
    await eventually("the end", async () => {
      await workbench.key("F5");
      return workbench.console("Finished: 1,624 commands").isVisible();
    });
    await workbench.press("Step Back");
    await eventually("the yellow line", () => workbench.yellowLine());
    await workbench.shot("network-end");
    await workbench.stop();
  });
});
