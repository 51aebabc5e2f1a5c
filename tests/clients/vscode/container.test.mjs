// The container TPU in the real VS Code: what can be seen of a compiled model without debugging it.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const { directory, lines } = expected;
const { workbench, step } = await openSample("container", { width: 1280, height: 800 });
const { page } = workbench;

/** Adapters that were started, directly or not, by this process. */
function adapters() {
  const parents = new Map();
  const commands = new Map();
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      parents.set(id, /\) \S (\d+)/.exec(readFileSync(`/proc/${id}/stat`, "utf8"))[1]);
      commands.set(id, readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " "));
    } catch {
      // It has ended.
    }
  }
  const isOurs = (id) => id !== undefined && (id === String(process.pid) || isOurs(parents.get(id)));
  return [...commands].filter(([id, command]) => /tdb-dap adapter|tdb_dap\.adapter/.test(command) && isOurs(id));
}
const adaptersAre = (count) => eventually(`${count} adapters`, () => adapters().length === count);

/** A row of one of the trees that begins with this. */
const row = (text) => page.locator(".part.sidebar .monaco-list-row", { hasText: text }).first();

async function expand(text) {
  if ((await row(text).getAttribute("aria-expanded")) !== "true") await row(text).locator(".monaco-tl-twistie").click();
  await eventually(`${text} to open`, async () => (await row(text).getAttribute("aria-expanded")) === "true");
}

const cursorAt = (line) => eventually(`line ${line}`, async () =>
  (await page.locator(".statusbar-item", { hasText: /^Ln / }).allInnerTexts()).some((text) => text.startsWith(`Ln ${line},`)));

async function inAllThemes(name) {
  for (const [theme, ground] of [["Dark High Contrast", "contrast"], ["Light Modern", "light"], ["Dark Modern", "dark"]]) {
    await workbench.theme(theme);
    await workbench.shot(`${name}-${ground}`);
  }
}

describe("the container TPU", () => {
  step("lists the models of the workspace, and says in the other views what they are for", async () => {
    await workbench.openContainer();
    await row("toy").waitFor();
    await row("net toy").waitFor();
    for (const pane of ["Compare", "Memory", "Findings"]) {
      await workbench.fold(pane, true);
      const button = page.locator(".pane", { has: page.locator(".pane-header", { hasText: pane }) }).locator(".monaco-button", { hasText: "Debug" });
      await button.first().waitFor();
      await workbench.shot(`container-empty-${pane.toLowerCase()}`);
      await workbench.fold(pane);
    }
    await adaptersAre(0);
  });

  step("shows what a model consists of", async () => {
    await row("Graph").waitFor();
    await expand("subnet 0");
    await row("Pool2D").waitFor();
    await workbench.shot("container-model");
    await inAllThemes("container");
  });

  step("leads from an op to its line, from a subnet to its function, and to the disassembly", async () => {
    await row("Pool2D").click();
    await cursorAt(lines.pool);
    await row("Pool2D").hover();
    await row("Pool2D").locator(".action-label[aria-label*='Disassembly']").click();
    await page.locator(".tab.active", { hasText: ".tdbasm" }).waitFor();
    await workbench.shot("container-listing");
  });

  step("shows the graph, the timeline and the memory with one adapter, which ends with the last of them", async () => {
    await workbench.opened(row("Graph"), ".node, svg", "ops");
    await workbench.shot("container-graph");
    await workbench.opened(row("Timeline"), ".ranking", "cycles");
    await workbench.shot("container-timeline");
    await workbench.opened(row("Chip Memory"), ".resident", "58 commands, not running");
    await workbench.shot("container-memory");
    await workbench.command("TDB: Show Compare Table");
    const compare = await workbench.webview("button.primary", "This model is not running");
    assert.equal(await compare.locator("button.primary").textContent(), "Start Debugging");
    await workbench.shot("container-compare");
    assert.equal(adapters().length, 1);
    await workbench.command("View: Close All Editors");
    await adaptersAre(0);
  });

  step("shows a model anew that is compiled while it is looked at", async () => {
    await workbench.opened(row("Chip Memory"), ".resident", "58 commands, not running");
    const [before] = adapters();
    const model = join(directory, "compilation.bmodel.xz");
    writeFileSync(model, readFileSync(model));
    await eventually("another adapter", () => adapters().some(([id]) => id !== before[0]));
    await eventually("the end of the first", () => adapters().length === 1 && adapters()[0][0] !== before[0]);
    await workbench.webview(".resident", "58 commands, not running");
    await workbench.command("View: Close All Editors");
    await adaptersAre(0);
  });

  step("shows a view again after a reload of the window, and keeps no tab that would stay empty", async () => {
    const tab = (name) => page.locator(".tab", { hasText: name });
    const reload = async () => {
      await Promise.all([page.waitForEvent("load"), workbench.command("Developer: Reload Window")]);
      await page.locator(".explorer-folders-view, .part.sidebar .monaco-list-row").first().waitFor({ timeout: 60_000 });
    };
    await workbench.opened(row("Graph"), ".node, svg", "ops");
    await reload();
    await workbench.webview(".node, svg", "ops", 60_000);
    await workbench.command("TDB: Show Compare Table");
    await workbench.webview("button.primary", "This model is not running");
    await reload();
    await eventually("the graph alone", async () => (await tab("Compare").count()) === 0 && (await tab("Graph").count()) === 1, 60_000);
    await workbench.webview(".node, svg", "ops");
    await workbench.shot("container-reloaded");
    await workbench.command("View: Close All Editors");
    await adaptersAre(0);
  });

  step("shows a weight as a picture, without a session", async () => {
    await expand("Weights");
    const weight = page.locator(".part.sidebar .monaco-list-row", { hasText: /^w1f32/ });
    await weight.click();
    const view = await workbench.webview("canvas, .table", "f32");
    await eventually("its numbers", async () => /min|max/i.test(await view.locator("body").textContent()));
    await workbench.shot("container-weight");
    await workbench.command("View: Close All Editors");
  });
});

describe("the editor of a .bmodel", () => {
  const open = (name) => eventually(`the editor of ${name}`, async () => {
    await workbench.key("Control+Shift+E");
    await page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).first().dblclick();
    return workbench.webview("table", "BM1684X", 4000).catch(() => undefined);
  });

  step("has tables with links to lines, tensors and views", async () => {
    const editor = await open("compilation.bmodel");
    for (const title of ["Nets", "Inputs", "Outputs", "Subnets", "Weights", "Ops"]) await editor.getByRole("table", { name: title, exact: true }).waitFor();
    assert.match(await editor.getByRole("table", { name: "Inputs" }).textContent(), /x.*f32\[1,3,32,32\].*G40960/);
    await inAllThemes("bmodel");
    await editor.getByRole("table", { name: "Ops" }).getByRole("button", { name: `line ${lines.pool}`, exact: true }).click();
    await cursorAt(lines.pool);
    await page.locator(".tab", { hasText: "compilation.bmodel" }).click();
    await (await workbench.webview("table", "BM1684X")).getByRole("button", { name: "Timeline" }).click();
    await workbench.webview(".ranking", "cycles");
    await workbench.command("View: Close All Editors");
  });

  step("of a lone file debugs that file, and its listing is what a stop shows", async () => {
    mkdirSync(join(directory, "lone"));
    copyFileSync(join(directory, "compilation.bmodel.xz"), join(directory, "lone", "alone.bmodel.xz"));
    await workbench.openContainer();
    await page.locator(".pane-header", { hasText: "Models" }).hover();
    await page.locator(".pane-header .action-label[aria-label*='Collapse All']").first().click();
    await row("alone").waitFor();
    await workbench.key("Control+Shift+E");
    await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "lone" }).first().click();
    const editor = await open("alone.bmodel");
    await editor.locator(".note", { hasText: "There is no final.mlir" }).waitFor();
    await workbench.shot("bmodel-alone");
    await page.locator(".tab.active").click();
    await workbench.key("F5");
    await page.locator(".tab.active", { hasText: ".tdbasm" }).waitFor();
    await eventually("the first command", async () => (await workbench.yellowLine())?.text.includes("D1"));
    assert.ok((await workbench.texts("call-stack")).every((text) => !text.includes("Unknown")), "each frame has a place");
    await workbench.shot("bmodel-alone-stop");
    await workbench.command("View: Hide Panel");
    await workbench.stop();
    await workbench.command("View: Close All Editors");
  });
});

describe("a session", () => {
  step("begins in Run and Debug, and fills the views of the container", async () => {
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(lines.pool);
    await workbench.key("F5");
    await workbench.stoppedAt(lines.pool);
    await workbench.rows("variables").first().waitFor();
    await workbench.evaluate("set in[0] = in[0] * 0");
    await workbench.command("View: Hide Panel");
    await workbench.press("Step Over");
    await workbench.openContainer();
    await row("being debugged").waitFor();
    for (const pane of ["Compare", "Memory", "Findings"]) await workbench.fold(pane, true);
    await row("tpu.Pool2D maxpool5_MaxPool").waitFor();
    await row("local memory").waitFor();
    await workbench.shot("container-session");
  });

  step("has its findings, which lead to their lines and moments", async () => {
    const found = page.locator(".pane", { has: page.locator(".pane-header", { hasText: "Findings" }) }).locator(".monaco-list-row", { hasText: "first to differ" });
    await found.click();
    await cursorAt(lines.pool);
    await found.hover();
    await found.locator(".action-label[aria-label*='Travel Here']").click();
    await page.locator(".exception-widget").waitFor({ state: "hidden" }); // the moment before the op that differs
    await workbench.stoppedAt(lines.pool);
    await workbench.stop();
    await adaptersAre(0);
  });
});
