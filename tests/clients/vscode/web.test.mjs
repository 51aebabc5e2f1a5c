// VS Code for the web with a virtual workspace: the debugger is a worker of the browser, and no process is started.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import { expected, rowText, steps } from "./sample.mjs";
import { serveWeb } from "./web.mjs";
import { eventually, Workbench } from "./workbench.mjs";

const PATIENCE = 120_000; // ms until Python is loaded and the model is open

const { lines, values, operand } = expected;
const folder = mkdtempSync(join(tmpdir(), "tdb-web-"));
cpSync(expected.directory, join(folder, "toy"), { recursive: true });
const server = await serveWeb({ home: process.env.CODE_SERVER, extension: process.env.EXTENSION, folder });
const workbench = await Workbench.open({ url: server.url, folder: "tdb-test://files/toy", shots: process.env.SHOTS });
const step = steps(workbench, "web");

after(async () => {
  await workbench.close();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("F5 in final.mlir of a virtual workspace", () => {
  step("stops at the breakpoint in the gutter", async (t) => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(lines.pool);
    const began = Date.now();
    await workbench.key("F5");
    await workbench.page.locator(".editor-instance .debug-top-stack-frame-line").first().waitFor({ timeout: PATIENCE });
    t.diagnostic(`stopped ${((Date.now() - began) / 1000).toFixed(1)} s after F5`);
    const yellow = await workbench.stoppedAt(lines.pool);
    assert.match(yellow.text, /"tpu\.Pool2D"/);
  });

  step("shows the operand in Variables", async () => {
    await workbench.widenDebugView({ width: 480, rows: 16 });
    await workbench.rows("variables").filter({ hasText: rowText(operand) }).first().waitFor();
  });

  step("evaluates in the Debug Console, over the whole run too", async () => {
    await workbench.evaluate(values.operand);
    await workbench.console(rowText(operand)).waitFor();
    await workbench.evaluate("trace max(out[0]) at tpu.Conv2D");
    await workbench.console("2 hits at 2 places").waitFor();
    await workbench.shot("web");
  });

  step("shows every version of a variable, and the tensor as it was", async () => {
    const tensor = workbench.rows("variables").filter({ hasText: rowText(operand) }).first();
    await workbench.choose(tensor, "Show History");
    const view = await workbench.webview(".versions li canvas");
    const [writer] = await eventually("who wrote it", async () => {
      const texts = await view.locator(".versions button").allTextContents();
      return texts.filter((text) => text.startsWith("tpu.Conv2D")).length > 0 && texts.filter((text) => text.startsWith("tpu.Conv2D"));
    });
    assert.match(await view.locator(".versions li", { hasText: writer }).first().textContent(), /read by \d+: tpu\.Pool2D/);
    await view.locator(".versions button", { hasText: "at the start" }).first().click();
    await eventually("the start", async () => (await view.locator("body").getAttribute("data-ordinal")) === "0");
    await workbench.shot("web-history");
    await workbench.command("View: Close Editor");
  });

  step("steps over the op, and back again", async () => {
    await workbench.key("F10");
    await eventually("the yellow line to move", async () => {
      const yellow = await workbench.yellowLine();
      return yellow && yellow.line !== lines.pool;
    });
    await workbench.press("Step Back");
    await workbench.stoppedAt(lines.pool);
  });

  step("says by name what a browser cannot do", async () => {
    await workbench.command("TDB: Show Diagnostics");
    await workbench.notification("Show Diagnostics needs a process, a port or local files").waitFor();
  });

  step("ends", async () => {
    await workbench.key("Shift+F5");
    await eventually("the end of the session", async () => (await workbench.yellowLine()) === undefined);
  });

  step("has asked its own server for everything", () => {
    assert.ok(server.asked.includes("/extension/dist/engine/pyodide.asm.wasm"));
  });
});
