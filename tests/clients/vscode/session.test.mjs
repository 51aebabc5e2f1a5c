// A user's session in the real VS Code, with the mouse and the keyboard.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { expected, openSample, rowText } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { lines, values, operand } = expected;
const { workbench, step } = await openSample("session");

describe("F5 in final.mlir, without a launch.json", () => {
  step("stops at the breakpoint that was clicked into the gutter", async () => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(lines.pool);
    await workbench.key("F5");
    const yellow = await workbench.stoppedAt(lines.pool);
    assert.match(yellow.text, /"tpu\.Pool2D"/);
  });

  step("shows the command, the op and the functions around it as the call stack", async () => {
    await eventually("the frames", async () => (await workbench.texts("call-stack")).length >= 3);
    const frames = await workbench.texts("call-stack");
    const asm = frames.findIndex((text) => text.includes(".tdbasm"));
    const op = frames.findIndex((text) => text.includes("tpu.Pool2D") && text.includes("final.mlir"));
    assert.ok(asm >= 0 && op >= 0, `the command's frame and the op's: ${frames.join(" | ")}`);
    assert.ok(frames[op].includes(String(lines.pool)), frames[op]);
  });

  step("shows the operand of the op with its type, shape and values", async () => {
    await workbench.widenDebugView({ width: 480, rows: 16 });
    const tensor = workbench.rows("variables").filter({ hasText: rowText(operand) }).first();
    await tensor.waitFor();
    await workbench.expand(tensor);
    // From the tensor's row down: the first of each axis that has more than one, until the rows are numbers.
    const axes = operand.shape.filter((extent) => extent > 1).length;
    for (let axis = 1; axis < axes; axis++) {
      await workbench.expand(workbench.rows("variables").locator(`xpath=self::*[@aria-level="${axis + 2}"]`).filter({ hasText: /^\[(0,)*0\]/ }).first());
    }
    const leaves = workbench.rows("variables").locator(`xpath=self::*[@aria-level="${axes + 2}"]`);
    await leaves.nth(operand.first.length - 1).waitFor();
    const shown = await leaves.allInnerTexts();
    operand.first.forEach((value, i) => {
      const [name, number] = shown[i].replace(/\s+/g, " ").split(/ ?[=:] /);
      assert.equal(name.trim(), `[${i}]`);
      assert.ok(Math.abs(Number(number) - value) <= 1e-4 * Math.abs(value) + 1e-6, `[${i}]: ${number} is not ${value}`);
    });
  });

  step("names who wrote the operand, and has an icon for its picture", async () => {
    const row = workbench.rows("variables").filter({ hasText: rowText(operand) }).first();
    await workbench.choose(row, "Who Wrote This");
    const notice = workbench.notification(/written by: command \d+, line \d+: B\d+/);
    await notice.waitFor();
    await workbench.page.locator(".notification-list-item .monaco-button", { hasText: "Travel There" }).waitFor();
    await workbench.command("Notifications: Clear All Notifications");
    await row.hover();
    await row.locator('.action-label[aria-label*="View Tensor"]').waitFor();
  });

  step("offers to step back", async () => {
    const buttons = await workbench.buttons();
    assert.ok(buttons.some((text) => text.startsWith("Step Back")), buttons.join(" | "));
  });

  step("evaluates the value under the mouse", async () => {
    const name = workbench.page.locator(".view-line", { hasText: '"tpu.Pool2D"' }).first().getByText(values.operand, { exact: true });
    await name.first().hover();
    await workbench.page.locator(".debug-hover-widget", { hasText: rowText(operand) }).waitFor();
    await workbench.page.mouse.move(640, 700);
  });

  step("evaluates in the Debug Console", async () => {
    await workbench.evaluate(values.operand);
    await workbench.console(rowText(operand)).waitFor();
    await workbench.shot("final-mlir");
  });

  step("steps over the op, and back again", async () => {
    await workbench.key("F10");
    const next = await eventually("the yellow line to move", async () => {
      const yellow = await workbench.yellowLine();
      return yellow && yellow.line !== lines.pool ? yellow : undefined;
    });
    assert.match(next.text, /"tpu\.\w+"/);
    await workbench.press("Step Back");
    await workbench.stoppedAt(lines.pool);
  });

  step("watches the operand, and Reverse stops at the op that wrote it", async () => {
    const tensor = workbench.rows("variables").filter({ hasText: rowText(operand) }).first();
    await workbench.choose(tensor, "Break on Value Change");
    await eventually("the data breakpoint", async () => (await workbench.texts("breakpoints")).length >= 2);
    await workbench.press("Reverse");
    await workbench.stoppedAt(lines.conv);
    await workbench.shot("reverse");
    await workbench.command("Remove All Breakpoints");
  });

  step("stands at the end of the model, where outputs are shown and Step Back works", async () => {
    await workbench.key("F5");
    await workbench.console("softmax16_Softmax = f32").waitFor();
    await workbench.key("F5"); // once too often
    await workbench.press("Step Back");
    await eventually("the yellow line", () => workbench.yellowLine());
    await workbench.stop();
  });
});

describe("without any breakpoint", () => {
  step("F5 stops at the first command", async () => {
    await workbench.command("Remove All Breakpoints");
    await workbench.openFile("final.mlir");
    await workbench.key("F5");
    await eventually("a frame", async () => (await workbench.texts("call-stack")).some((text) => text.includes(".tdbasm")));
  });

  step("the call stack opens the disassembly, as a language of its own", async () => {
    await workbench.rows("call-stack").filter({ hasText: ".tdbasm" }).first().dblclick();
    await workbench.page.locator(".tab.active", { hasText: ".tdbasm" }).waitFor();
    await workbench.page.locator(".statusbar-item", { hasText: "TPU Assembly" }).waitFor();
  });

  step("a breakpoint in the disassembly stops there", async () => {
    const line = await workbench.lineWith("pool");
    await workbench.clickGutter(line);
    await workbench.key("F5");
    const yellow = await workbench.stoppedAt(line);
    assert.match(yellow.text, /pool/);
    await workbench.shot("disassembly");
  });

  step("evaluates the operand of a command under the mouse", async () => {
    await workbench.page.locator(".view-line", { hasText: "pool" }).first().getByText(/^%R\d+$/).last().hover();
    await workbench.page.locator(".debug-hover-widget", { hasText: rowText(operand) }).waitFor();
  });

  step("Stop ends the session", async () => {
    await workbench.stop();
  });

  step("the next session knows the breakpoint in the disassembly", async () => {
    await workbench.openFile("final.mlir");
    await workbench.key("F5");
    const yellow = await eventually("the yellow line", () => workbench.yellowLine());
    assert.match(yellow.text, /pool/);
    await workbench.page.locator(".tab.active", { hasText: ".tdbasm" }).waitFor();
    await workbench.stop();
  });
});
