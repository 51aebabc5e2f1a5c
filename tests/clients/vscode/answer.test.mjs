// A language model that says nonsense, in the real VS Code: from the prompt to the op that is wrong, in one page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const models = join(dirname(expected.directory), "language-models");
execFileSync(process.env.PYTHON, ["-m", "tests.llm_case", models], { cwd: ROOT });

const { workbench, step } = await openSample("answer", { width: 1280, height: 800, folder: join(models, "exclamation") });
const { page } = workbench;
let view;

const cell = (row, token) => view.locator(`.strip button[data-key="${token} ${row}"]`);
const tokens = async () => (await view.locator("button.token").allInnerTexts()).map((text) => text.trim());

describe("a language model", () => {
  step("is asked from the palette, without a launch.json", async () => {
    await workbench.command("TDB: Ask a Language Model");
    view = await workbench.webview("form.ask");
    await view.getByLabel("Prompt").fill("5, 17, 30");
    await view.getByLabel("Tokens").fill("4");
    await view.getByLabel("Prompt").press("Enter");
    await eventually("the whole answer", async () => (await tokens()).join() === "#42,#18,#34,#34", 60_000);
    assert.equal(await view.locator(".strip tbody tr").count(), 4);
    assert.equal(await cell("block 1", 3).getAttribute("class"), "done unknown");
    await view.locator(".candidates", { hasText: /Logits of token 3[\s\S]*34/ }).waitFor();
    await workbench.shot("answer");
  });

  step("travels to a launch, and back to the end", async () => {
    await cell("block 1", 1).click();
    await eventually("the launch", async () => (await cell("block 1", 1).getAttribute("class")) === "now unknown");
    await page.locator(".debug-call-stack", { hasText: "token 1" }).waitFor();
    assert.equal((await tokens()).join(), "#42,#18,#34,#34", "what was answered is still known");
    await workbench.press("Continue");
    await eventually("the end", async () => (await cell("lm_head", 3).getAttribute("class")) === "done unknown");
  });

  step("goes from cell to cell with the arrow keys, and says what each is", async () => {
    await cell("block 0", 0).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await eventually("the words", async () => (await view.locator(".details").innerText()) === "token 1 · block_cache_1 · not compared");
  });

  step("shows the time of each token, by net and by kind of op", async () => {
    await view.getByText("Time per Token").click();
    await view.locator(".times tbody tr.net", { hasText: "block_cache_*" }).waitFor({ timeout: 60_000 });
    const cells = await view.locator(".times tbody tr.weights td").allInnerTexts();
    assert.equal(cells.length, 4);
    assert.ok(cells.every((text) => /^\d+ %$/.test(text)), cells.join());
    assert.ok((await view.locator(".times tbody tr.op").count()) > 0);
    await workbench.shot("answer-times");
    await view.getByText("Time per Token").click();
  });

  step("names the op that is wrong, beside the float model, and goes there", async () => {
    await view.getByText("Compare with the Float Model").click();
    const input = page.locator(".quick-input-widget input").first();
    // The dialog writes into its input until it lists the folder that it begins with.
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "nets" }).waitFor();
    await input.fill(join(models, "float") + "/");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "nets" }).waitFor({ state: "detached" });
    await page.locator(".quick-input-widget .monaco-button", { hasText: "Compare" }).click();
    await workbench.notification("the next answer is compared").waitFor();
    await view.getByLabel("Prompt").press("Enter");
    await view.locator(".verdict", { hasText: "First wrong: token 0, block_1 model.layers.1.mlp.up_proj" }).waitFor({ timeout: 60_000 });
    await eventually("the end", async () => (await tokens()).at(-1) === "#34");
    assert.equal(await cell("block 1", 0).getAttribute("class"), "done wrong");
    assert.equal(await cell("block 0", 0).getAttribute("class"), "done right");
    await workbench.shot("answer-compared");
    await view.getByText("travel there").click();
    await eventually("the wrong op", async () => (await workbench.yellowLine())?.text.includes("tpu.MatMul"));
    await page.locator(".tab.active", { hasText: "final.mlir" }).waitFor();
    assert.ok(await view.locator("form.ask").isVisible());
    await workbench.shot("answer-wrong-op");
  });

  step("looks well in light and high contrast, and is accessible", async () => {
    for (const [theme, ground] of [["Dark High Contrast", "contrast"], ["Light Modern", "light"]]) {
      await workbench.theme(theme);
      await workbench.shot(`answer-${ground}`);
      let found = [];
      await eventually("nothing to find", async () => (found = await workbench.audit(view)).length === 0, 5000).catch(() => undefined);
      assert.deepEqual(found, [], ground);
    }
  });

  step("finds no fault with the listing of many nets", async () => {
    await workbench.command("Problems: Focus on Problems View");
    await page.locator(".markers-panel", { hasText: "No problems have been detected" }).waitFor();
  });

  step("says what is wrong with a prompt, and can be asked again", async () => {
    await view.getByLabel("Prompt").fill("hello");
    await view.getByLabel("Prompt").press("Enter");
    await page.locator(".monaco-dialog-box", { hasText: "tokenizer.json" }).waitFor();
    await workbench.shot("answer-no-tokenizer");
  });
});
