// The Trace view in the real VS Code: a log point in the gutter fills it with its hits of the whole run, past and future.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { lines } = expected;
const { workbench, step } = await openSample("trace", { width: 1600, height: 1000 });
const { page } = workbench;
let view;

const rows = () => view.locator("tbody tr:not(.space)");
const texts = async () => (await rows().allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
const status = () => view.locator(".bar .status[role=status]").innerText();

/** Add a log point: type into the box that VS Code opens in the editor. */
async function logPoint(line, message) {
  const editor = page.locator(".breakpoint-widget .monaco-editor").first();
  await workbench.lineNumber(line).click();
  await page.keyboard.press("ArrowLeft"); // from the selected line to its start
  await workbench.command("Debug: Add Logpoint...");
  await editor.waitFor();
  await sleep(500); // the box grows, and loses letters that are typed meanwhile
  await editor.click();
  await page.keyboard.type(message, { delay: 20 });
  const text = page.locator(".breakpoint-widget .view-line");
  await eventually("the message", async () => (await text.innerText()).replaceAll("\u00a0", " ") === message);
  await page.keyboard.press("Enter");
}

describe("a trace", () => {
  step("opens for a log point of the gutter, with its hit in the future, and leaves the keyboard where it is", async () => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(lines.pool);
    await workbench.key("F5");
    await workbench.stoppedAt(lines.pool);
    await workbench.command("View: Hide Panel");
    const line = await workbench.lineWith('"tpu.MatMul"');
    await logPoint(line, "is {max(out[0]):.3f}");
    view = await workbench.webview("tbody tr.ahead");
    assert.equal(await rows().count(), 1);
    assert.match((await texts())[0], new RegExp(`^\\d+ \\w+ ${line} tpu.MatMul \\S+ 0\\.3334788$`));
    await view.locator(".tabs [aria-selected=true]", { hasText: `:${line}` }).waitFor();
    assert.equal(await view.evaluate(() => document.hasFocus()), false);
    await workbench.shot("trace-log-point");
  });

  step("takes a line of the palette, with rows behind and ahead and a sparkline", async () => {
    await workbench.command("TDB: Trace...");
    const input = page.locator(".quick-input-widget input").first();
    await input.fill("max(out[0]) at tpu.*");
    await input.press("Enter");
    await eventually("all ops", async () => (await rows().count()) === 13);
    assert.equal(await status(), "13 hits at 13 places");
    assert.equal(await view.locator("tr.ahead").count(), 9);
    assert.match(await view.locator(".sparkline path").getAttribute("d"), /^M[\d.]+ [\d.]+L/);
    assert.equal(await view.locator(".tabs [role=tab]").count(), 2);
    await workbench.shot("trace");
  });

  step("searches, sorts and selects with a brush", async () => {
    const filter = view.getByLabel("Filter by op, tensor, line or value");
    await filter.fill("conv2d");
    await eventually("the convolutions", async () => (await texts()).every((text) => text.includes("tpu.Conv2D")));
    assert.match(await status(), /· 2 shown$/);
    await filter.fill("");
    await view.getByRole("button", { name: "max(out[0])", exact: true }).click();
    await eventually("the greatest first", async () => (await texts())[0].endsWith("3.935986"));
    const box = await view.locator(".sparkline").boundingBox();
    await workbench.drag([box.x + 1, box.y + 20], [box.x + (box.width * 2.5) / 13, box.y + 20]);
    await eventually("three rows", async () => (await rows().count()) === 3);
    await view.getByRole("button", { name: "All Rows" }).click();
    await eventually("all rows", async () => (await rows().count()) === 13);
  });

  step("travels to the row that is clicked", async () => {
    const gemm = view.locator("tbody tr", { hasText: "tpu.MatMul" });
    await gemm.click();
    await workbench.stoppedAt(lines.last); // its result is there before the next op
    await eventually("one row ahead", async () => (await view.locator("tr.ahead").count()) === 1);
    assert.equal(await gemm.getAttribute("class"), "here");
    await view.locator("tbody tr", { hasText: "load_w1" }).click();
    await eventually("rows ahead", async () => (await view.locator("tr.ahead").count()) > 9);
  });

  step("stops where a value first exceeds a limit", async () => {
    const field = view.getByLabel("Stop where max(out[0]) first exceeds");
    await field.fill("3.4");
    await field.press("Enter");
    await eventually("the breakpoint", async () => (await status()).startsWith("Breakpoint: after tpu.* if (max(out[0])) > 3.4"));
    await page.locator(".debug-breakpoints .monaco-list-row", { hasText: "after tpu.*" }).waitFor();
    await workbench.press("Continue");
    await workbench.stoppedAt(Number(/ (\d+) tpu\.Load load_0 /.exec((await texts()).join("\n"))[1]));
    await workbench.shot("trace-stopped");
  });

  step("is accessible, in light and high contrast too", async () => {
    for (const [theme, ground] of [["Dark High Contrast", "contrast"], ["Light Modern", "light"]]) {
      await workbench.theme(theme);
      await workbench.shot(`trace-${ground}`);
      let faults = [];
      await eventually("nothing to find", async () => (faults = await workbench.audit(view)).length === 0, 5000).catch(() => undefined);
      assert.deepEqual(faults, [], ground);
    }
  });
});
