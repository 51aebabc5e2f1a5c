// A language model of 12 blocks in the real VS Code: from its file to the wrong op in one of 26 nets, and onwards.
//
// Environment: as for sample.mjs; EXPECTED: output of language.py.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { workbench, step } = await openSample("language", { width: 1280, height: 800 });
const { page } = workbench;
const row = (text) => page.locator(".part.sidebar .monaco-list-row", { hasText: text }).first();
const columns = () => page.locator(".editor-group-container").count();
/** The tab in front of each group. */
const inFront = () => page.locator(".editor-group-container .tab.active .label-name").allInnerTexts();
/** Folder and file of the editor on the left. */
const path = async () => (await page.locator(".editor-group-container").first().locator(".monaco-breadcrumb-item").allInnerTexts()).join("/");
const state = () => page.locator('.pane-header[aria-label^="Call Stack"]').innerText();
let answer;

const cell = (block, token) => answer.locator(`.strip button[data-key="${token} block ${block}"]`);

describe("a language model of many blocks", () => {
  step("is asked from the editor of its file", async () => {
    // Opened before the extension is known, it is a file that no editor can show.
    const editor = await eventually("the editor", async () => {
      await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "small_qwen2" }).first().dblclick();
      const found = await workbench.webview("table", "block_cache_11", 10_000).catch(() => undefined);
      if (found === undefined) await workbench.command("View: Close All Editors");
      return found;
    });
    await workbench.shot("language-editor");
    await editor.getByRole("button", { name: "Ask the Language Model" }).click();
    answer = await workbench.webview("form.ask");
    await answer.getByText("Compare with the Float Model").click();
    const input = page.locator(".quick-input-widget input").first();
    const listed = page.locator(".quick-input-list .monaco-list-row", { hasText: "nets" });
    await listed.waitFor();
    await input.fill(`${expected.float}/`);
    await listed.waitFor({ state: "detached" });
    await page.locator(".quick-input-widget .monaco-button", { hasText: "Compare" }).click();
    await workbench.notification("the next answer is compared").waitFor();
    await answer.getByLabel("Prompt").fill("5, 17, 30");
    await answer.getByLabel("Tokens").fill("3");
    await answer.getByLabel("Prompt").press("Enter");
    await answer.locator(".verdict", { hasText: `First wrong: token 0, ${expected.net} ${expected.layer}` }).waitFor({ timeout: 120_000 });
    await eventually("the end", async () => /at the end/i.test(await state()), 120_000);
    assert.equal(await cell(7, 0).getAttribute("class"), "done wrong");
    assert.equal(await cell(6, 0).getAttribute("class"), "done right");
    await workbench.shot("language-answer");
  });

  step("leads to the op in the file of its net, which is named so that it is told from others", async () => {
    await answer.getByText("travel there").click();
    await eventually("the wrong op", async () => (await workbench.yellowLine())?.text.includes("tpu.MatMul"));
    await eventually("the file of its net", async () => (await path()).startsWith(`nets/${expected.net}/final.mlir`));
    const stack = await eventually("the stack", async () => {
      const texts = await workbench.texts("call-stack");
      return texts.some((frame) => frame.startsWith("token 0")) ? texts : undefined;
    });
    assert.match(stack[0], /^tpu\.MatMul …mlp\.up_proj final\.mlir/);
    assert.deepEqual([await columns(), (await inFront()).at(-1)], [2, "Answer"]);
    await workbench.shot("language-wrong");
  });

  step("is stepped into the next nets, beside the answer, which keeps the keyboard", async () => {
    await cell(8, 0).click();
    await eventually("the launch", async () => /now/.test(await cell(8, 0).getAttribute("class")));
    await workbench.keyboardInPage();
    await workbench.press("Step Over");
    await eventually("the file of the next net", async () => (await path()).startsWith("nets/block_8/final.mlir"));
    assert.deepEqual([await columns(), (await inFront()).at(-1)], [2, "Answer"]);
    await workbench.keyboardInPage();
    await workbench.shot("language-step");
  });

  step("has its launches below their tokens, where one stands and the way back to others", async () => {
    await workbench.openContainer();
    for (const pane of ["Compare", "Findings"]) await workbench.fold(pane);
    await row("token 0").filter({ hasText: "here" }).waitFor();
    await row("token 0").locator(".monaco-tl-twistie").click();
    await row("launch 0").waitFor();
    assert.equal(await page.locator(".part.sidebar .monaco-list-row", { hasText: "net block" }).count(), 0, "26 nets are below one row");
    const time = await workbench.webview("#moment", "block_8");
    assert.match(await time.locator("#launch").innerText(), /^token 0, launch 9 of block_8/);
    assert.match(await time.locator("#moment strong").innerText(), /, block_8\/final\.mlir:\d+$/);
    await workbench.shot("language-launches");
    await row("launch 2").click();
    await row("launch 2").filter({ hasText: "here" }).waitFor();
    await workbench.key("Control+Shift+D");
    await eventually("the net", async () => (await workbench.texts("call-stack")).some((frame) => frame.startsWith("block_1 ")));
  });

  step("has a timeline, a graph and a chip memory of all its nets", async () => {
    await workbench.openContainer();
    const show = async (view) => {
      await page.locator('.pane-header[aria-label^="Models"]').hover();
      await workbench.press(`Show ${view}`);
    };
    await show("Timeline");
    const timeline = await workbench.webview("svg", "TIU busy");
    await workbench.shot("language-timeline");
    await timeline.getByText("MatMul lm_head").first().waitFor();
    await show("Graph");
    const graph = await workbench.webview("svg", "…self_attn");
    await workbench.shot("language-graph");
    assert.match(await graph.locator("body").innerText(), /1,2\d\d ops/);
    await show("Chip Memory");
    await workbench.webview("svg", "commands executed");
    await workbench.shot("language-memory");
    assert.equal(await columns(), 2);
  });
});
