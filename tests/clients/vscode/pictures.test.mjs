// Pictures for the documentation, of the network of 300 ops with long names; copied to vscode-extension/images by hand.
//
// Environment: as for sample.mjs; EXPECTED: output of network.py.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { wrong } = expected;
const { workbench, step } = await openSample("pictures", { width: 1400, height: 900 });
const { page } = workbench;
const GROUNDS = [["Light Modern", "light"], ["Dark High Contrast", "contrast"], ["Dark Modern", "dark"]];
const operand = () => workbench.rows("variables").filter({ hasText: /^r?in|Relu|MaxPool|Conv/ }).first();
let view;

describe("on a network with long names", () => {
  step("the model is a tree, without a session", async () => {
    await workbench.openFile("final.mlir");
    await page.locator(".codelens-decoration").first().waitFor();
    await workbench.openContainer();
    await page.locator(".part.sidebar .monaco-list-row", { hasText: "Weights" }).first().waitFor();
    await workbench.shot("container");
    await workbench.command("View: Show Run and Debug");
  });

  step("the op at which the program stands has a lens", async () => {
    await workbench.key("F5");
    await eventually("the first stop", () => workbench.yellowLine());
    await page.locator(".codelens-decoration", { hasText: "here" }).first().waitFor();
    await workbench.key("F5");
    await page.locator(".exception-widget", { hasText: "mismatch" }).waitFor();
    await workbench.stoppedAt(wrong.line);
    await workbench.webview("tr.culprit");
    await page.locator(".codelens-decoration", { hasText: "here" }).first().waitFor();
    await workbench.shot("final-mlir");
  });

  step("all that was compared is a table", async () => {
    view = await workbench.webview("tr.culprit");
    await workbench.command("View: Hide Panel");
    await view.locator(".bar input[type=checkbox]").first().uncheck();
    await eventually("all tensors", async () => (await view.locator("tbody tr").count()) > 100);
    await view.locator("tbody tr").last().scrollIntoViewIfNeeded();
    await workbench.shot("compare-table");
    await view.locator(".bar input[type=checkbox]").first().check();
  });

  step("a tensor is a picture, in each kind of theme", async () => {
    await workbench.choose(operand(), "View Tensor");
    view = await workbench.webview("#map-actual");
    await eventually("all tiles", async () => (await view.locator("body").getAttribute("data-complete")) === "true");
    for (const [theme, ground] of GROUNDS) {
      await workbench.theme(theme);
      await workbench.shot(`tensor-${ground}`);
    }
    const arrangement = view.locator("#arrangement");
    if (!(await arrangement.isVisible())) await view.locator("#gear").click();
    await arrangement.selectOption("mosaic");
    await eventually("all tiles", async () => (await view.locator("body").getAttribute("data-complete")) === "true");
    await workbench.shot("tensor-mosaic");
    await workbench.command("View: Close Editor");
  });

  step("Show Bytes leads from a variable to its bytes", async () => {
    await workbench.choose(operand(), "Show Bytes");
    view = await workbench.webview(".bytes:not([hidden]) tbody tr");
    await eventually("the bytes", async () => (await view.locator(".bytes td").count()) > 16);
    assert.ok(await view.locator('[data-tab="bytes"][aria-selected="true"]').isVisible());
    await workbench.shot("memory-bytes");
    await workbench.command("View: Close Editor");
  });

  step("no variable has an icon that only offers to install a hex editor", async () => {
    await operand().hover();
    assert.equal(await page.locator(".debug-variables .codicon-debug-inspect-memory").count(), 0);
  });

  step("time is a slider", async () => {
    await page.locator(".statusbar-item", { hasText: /\d+\/\d+/ }).first().click();
    view = await workbench.webview('input[type="range"]');
    await view.locator('input[type="range"]').focus();
    await workbench.key("ArrowLeft");
    await eventually("the moment", async () => (await view.locator("#moment").textContent()).includes("line"));
    await workbench.shot("time-slider");
    await workbench.stop();
  });
});
