// The extension in Chinese, in the real VS Code: commands, questions, views, in a window of 1280 x 800.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { expected, openSample, rowText } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { lines, operand } = expected;
const { workbench, step } = await openSample("chinese", { width: 1280, height: 800, language: "zh-cn" });
let view;

const text = async (selector) => (await view.locator(selector).first().textContent()).replace(/\s+/g, " ").trim();
/** Wait until an element of the view has a text like this. */
const says = (selector, pattern) => eventually(`${pattern} in ${selector}`, async () => pattern.test(await text(selector)));
/** Texts, names and tips of the view that are English sentences; those of memories and tensors are not ours. */
const english = () => view.locator("button, option, label, th, dt, h1, h2, [title], [aria-label]").evaluateAll((all) =>
  all.flatMap((element) => [element.children.length === 0 ? element.textContent : "", ...["title", "aria-label"].map((name) => element.getAttribute(name) ?? "")])
    .filter((text) => /[a-z]{2,} [a-z]{2,}/i.test(text) && !/[\u4e00-\u9fff]/.test(text) && !/ memory\b|_|[^ ]…$/.test(text)));

describe("in Chinese", () => {
  step("a .bmodel says what it is, and debugs", async () => {
    view = await eventually("the editor", async () => {
      await workbench.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "compilation.bmodel" }).first().dblclick();
      const found = await workbench.webview("table", "BM1684X", 4000).catch(() => undefined);
      if (found === undefined) await workbench.command("View: Close Editor");
      return found;
    });
    assert.equal(await text("h1"), "compilation.bmodel.xz");
    assert.equal(await text("h2"), "op 列表");
    assert.equal(await text("button"), "开始调试");
    assert.deepEqual(await english(), []);
    assert.equal(await view.locator("html").getAttribute("lang"), "zh-cn");
    await workbench.shot("chinese-bmodel");
  });

  step("the palette asks which debugger to use", async () => {
    await workbench.command("TDB: 设置调试器...");
    const question = await workbench.question();
    assert.match(question.text, /TDB：使用哪一个调试器？/);
    assert.match(question.text, /私有环境是本扩展的一个文件夹，不会改动其他 Python。它需要 Python 3\.10 或更新的版本/);
    assert.deepEqual(question.buttons.filter((label) => label !== "Cancel").sort(), ["安装到私有环境", "显示日志", "选择 Python..."].sort());
    await workbench.shot("chinese-question");
    await workbench.answer("Cancel");
  });

  step("chip memory tells of a tensor who writes and reads it", async () => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(lines.pool);
    await workbench.key("F5");
    await workbench.stoppedAt(lines.pool);
    await workbench.command("View: Hide Panel");
    await workbench.command("TDB: 显示芯片内存");
    view = await workbench.webview(".resident", operand.name);
    await says(".bar .status", /^共 58 条命令，已执行 \d+ 条 · 已用 [\d.]+ \w+，共 256 KiB · 最大空闲 /);
    assert.deepEqual(await view.locator(".present th").allTextContents(), ["起始", "字节", "内容"]);
    await view.locator(`.resident[data-name="${operand.name}"] rect`).click();
    await says(".writer", new RegExp(`^写入者：tpu\\.Conv2D，第 ${lines.conv} 行，命令 \\d+$`));
    assert.deepEqual(await english(), []);
    await workbench.shot("chinese-memory");
  });

  step("bytes are edited, and what is wrong is said", async () => {
    await view.locator(".details button", { hasText: "字节" }).click();
    const number = view.locator('.grid td[data-part="word"]').first();
    await number.dblclick();
    await workbench.page.keyboard.type("nonsense");
    await workbench.key("Enter");
    await says(".bytes .trouble", /^nonsense 不是十六进制数$/);
    await workbench.key("Escape");
    await workbench.shot("chinese-bytes");
  });

  step("the graph", async () => {
    await workbench.command("TDB: 显示计算图");
    view = await workbench.webview(".node", "MaxPool");
    await says(".bar .status", /^\d+ 个 op · 共 58 条命令，已执行 \d+ 条$/);
    await view.locator("select").selectOption("verdict");
    await says(".key", /符合预期/);
    await view.locator("select").selectOption("time");
    await says(".key", /不耗时 耗时最多/);
    assert.deepEqual(await english(), []);
    await workbench.shot("chinese-graph");
  });

  step("the timeline", async () => {
    await workbench.command("TDB: 显示时间线");
    view = await workbench.webview("canvas[data-ordinal]", "relu4_Relu");
    await says(".bar .status", /^4,911 个周期/);
    assert.deepEqual(await view.locator(".ranking th").allTextContents(), ["op", "TIU 周期", "DMA 周期", "占比"]);
    await view.locator(".ranking button", { hasText: "maxpool5_MaxPool" }).click();
    await says(".about", new RegExp(`，从 [\\d.]+ µs 起.*第 ${lines.pool} 行`));
    assert.deepEqual(await english(), []);
    await workbench.shot("chinese-timeline");
  });

  step("a tensor, from the menu of a variable", async () => {
    await workbench.command("View: Close All Editors");
    await workbench.choose(workbench.rows("variables").filter({ hasText: rowText(operand) }).first(), "查看张量");
    view = await workbench.webview("#statistics dt", "平均值");
    await says("#about", /^命令 \d+，共 58 条 · /);
    assert.deepEqual(await view.locator("aside h2").allTextContents(), ["元素", "统计", "误差最大的元素", "绝对值最大的元素"]);
    assert.deepEqual(await view.locator("figcaption > span:first-child").allTextContents(), ["实际值", "参考", "误差"]);
    assert.deepEqual(await english(), []);
    await workbench.shot("chinese-tensor");
  });

  step("the views of the side bar", async () => {
    await workbench.openContainer();
    for (const pane of ["时间", "比较", "内存", "发现的问题"]) await workbench.fold(pane, true);
    await workbench.fold("模型");
    const pane = workbench.page.locator(".pane", { has: workbench.page.locator(".pane-header", { hasText: "比较" }) }).last();
    await pane.locator(".message", { hasText: /^\d+ 个张量符合预期；\d+ 个未比较$/ }).waitFor();
    await pane.locator('.monaco-list-row[aria-label*="符合预期, 余弦相似度 1.0000，最大误差"]').first().waitFor();
    view = await workbench.webview("#ordinal");
    await eventually("the moment", async () => (await text("#ordinal")).startsWith("5 / 58"));
    await says("#moment", new RegExp(`^tpu\\.Pool2D maxpool5_MaxPool，第 ${lines.pool} 行`));
    await workbench.shot("chinese-side-bar");
  });

  step("the walkthrough", async () => {
    await workbench.stop();
    await workbench.command("Welcome: Open Walkthrough...");
    await workbench.page.locator(".quick-input-list .monaco-list-row", { hasText: "调试编译后的 TPU 模型" }).first().click();
    await workbench.page.getByText("它随扩展提供").first().waitFor();
    await workbench.shot("chinese-walkthrough");
  });
});
