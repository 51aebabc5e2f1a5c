// The extension alone is a debugger: no Python on PATH, an empty home, no network. Run in a namespace without routes.
//
// Environment: PLATFORM_VSIX, EXPECTED, CODE_SERVER, SHOTS.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { it } from "node:test";
import { openMachine } from "./machines.mjs";
import { eventually } from "./workbench.mjs";

const { lines, directory, operand } = JSON.parse(readFileSync(process.env.EXPECTED, "utf8"));
const { workbench } = await openMachine({ vsix: process.env.PLATFORM_VSIX, folder: directory });

it("the network is cut off", () => {
  assert.deepEqual(Object.keys(networkInterfaces()).filter((name) => name !== "lo"), []);
});

it("a click into the gutter and F5 show tensors", async () => {
  await workbench.openFile("final.mlir");
  await workbench.clickGutter(lines.pool);
  await workbench.key("F5");
  await workbench.stoppedAt(lines.pool);
  await eventually("tensors", async () => (await workbench.texts("variables")).some((text) => text.includes(operand.row)));
  await workbench.statusBar(/^TDB .*bundled/).waitFor();
  await workbench.shot("install-offline");
});

it("the language server runs, too", async () => {
  await eventually("a lens", () => workbench.page.locator(".codelens-decoration").count());
});

it("its diagnostics say that the frozen program is used, and find nothing wrong", async () => {
  await workbench.command("TDB: Show Diagnostics");
  const text = await eventually("the report", async () => {
    const lines = await workbench.page.locator(".editor-instance .view-line").allInnerTexts();
    const all = lines.join("\n").replaceAll("\u00a0", " ");
    return all.includes("(bundled)") && all;
  });
  assert.match(text, /debugger TDB \d+\.\d+\.\d+ \(bundled\)/);
  await workbench.shot("install-diagnostics");
});
