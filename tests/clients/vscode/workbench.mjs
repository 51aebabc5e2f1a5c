// The parts of VS Code's workbench that a debugger's user touches.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openPage } from "./browser.mjs";

/** Milliseconds; a machine that does other work needs more. */
const PATIENCE = Number(process.env.TDB_PATIENCE ?? 20_000);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Wait until `check` gives something true, and return that. */
export async function eventually(what, check, milliseconds = PATIENCE) {
  const end = Date.now() + milliseconds;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await sleep(100);
  }
}

export class Workbench {
  /** Open `folder` in the VS Code that is served at `url`; pictures go to the directory `shots`. `options`: of openPage. */
  static async open({ url, folder, shots, ...options }) {
    mkdirSync(shots, { recursive: true });
    const { page, close } = await openPage(options);
    await page.goto(`${url}/?folder=${encodeURIComponent(folder)}`);
    await page.locator(".explorer-folders-view .monaco-list-row").first().waitFor({ timeout: 60_000 });
    return new Workbench(page, close, shots);
  }

  constructor(page, close, shots) {
    Object.assign(this, { page, close, shots });
  }

  async shot(name) {
    await this.page.mouse.move(640, this.page.viewportSize().height - 1); // no hover of the pointer's in the picture
    await sleep(400);
    await this.page.screenshot({ path: join(this.shots, `${name}.png`) });
  }

  /** Run a command of the palette by its exact label. A list that was opened before the extension was read lacks it. */
  async command(label) {
    const name = this.page.locator(".label-name", { hasText: new RegExp(`^${escape(label)}$`) });
    const row = this.page.locator(".quick-input-list .monaco-list-row").filter({ has: name }).first();
    await eventually(`the command ${label}`, async () => {
      await this.page.keyboard.press("F1");
      const input = this.page.locator(".quick-input-widget input").first();
      // The list goes away again where the focus moves just then, as to a view that has been loaded, or to the line of a stop.
      const chosen = await input.waitFor({ timeout: 3000 }).then(() => input.fill(`>${label}`, { timeout: 3000 })).then(() => row.click({ timeout: 5000 })).then(() => true, () => false);
      if (!chosen) await this.page.keyboard.press("Escape");
      return chosen;
    });
  }

  async openFile(name) {
    // The key is lost while the workbench comes up, and an explorer that was opened too early stays empty.
    await eventually(`${name} in the explorer`, async () => {
      await this.key("Control+Shift+E");
      const row = this.page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).first();
      return row.dblclick({ timeout: 5000 }).then(() => true, () => false);
    }, 60_000);
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
    await this.page.locator(".monaco-editor .view-line").first().waitFor();
  }

  lineNumber(line) {
    return this.page.locator(".editor-instance .line-numbers", { hasText: new RegExp(`^${line}$`) }).first();
  }

  /** Number of the first visible line of the editor with this text. */
  lineWith(text) {
    return eventually(`a line with ${text}`, () => this.page.evaluate((text) => {
      const top = (element) => element.getBoundingClientRect().top;
      const within = (selector) => [...document.querySelectorAll(`.editor-instance ${selector}`)];
      const found = within(".view-line").find((line) => line.textContent.includes(text));
      const number = found && within(".line-numbers").find((number) => Math.abs(top(number) - top(found)) < 6);
      return number && Number(number.textContent);
    }, text));
  }

  /** Where an element is once it has stopped moving: lenses that arrive push the lines below them down. */
  async restingBox(locator) {
    let before = await locator.boundingBox();
    return eventually("an element to rest", async () => {
      await sleep(250);
      const now = await locator.boundingBox();
      const rests = before !== null && now !== null && now.x === before.x && now.y === before.y;
      before = now;
      return rests ? now : undefined;
    });
  }

  /** Toggle a breakpoint with the mouse. */
  async clickGutter(line) {
    // A click is lost while the extension's contributions have not arrived: click until the dot is there.
    await eventually(`a breakpoint on line ${line}`, async () => {
      const box = await this.restingBox(this.lineNumber(line));
      await this.page.mouse.click(box.x - 8, box.y + box.height / 2); // the glyph margin lies left of the number
      return eventually("its dot", () => this.hasGlyph(line, "debug-breakpoint"), 1000).catch(() => false);
    });
  }

  /** Is there a mark in the gutter of this line whose class has this in its name? */
  hasGlyph(line, kind) {
    return this.page.evaluate(([line, kind]) => {
      const top = (element) => element.getBoundingClientRect().top;
      const number = [...document.querySelectorAll(".editor-instance .line-numbers")].find((e) => e.textContent.trim() === String(line));
      const marks = document.querySelectorAll(`.editor-instance .glyph-margin-widgets [class*="${kind}"]`);
      return number !== undefined && [...marks].some((mark) => Math.abs(top(mark) - top(number)) < 6);
    }, [line, kind]);
  }

  /** Wait until the cursor of the editor is on this line, whether or not the keyboard is there. */
  async cursorAt(line) {
    await this.page.locator(".editor-instance .active-line-number", { hasText: new RegExp(`^\\s*${line}\\s*$`) }).first().waitFor();
  }

  /** Wait until the keyboard is in a page of an extension. */
  keyboardInPage() {
    return eventually("the keyboard in a page", () => this.page.evaluate(() => document.activeElement?.localName === "iframe"));
  }

  /** Number and first words of the line that is marked yellow: where the program stands. */
  async yellowLine() {
    return this.page.evaluate(() => {
      const top = (element) => Math.round(element.getBoundingClientRect().top);
      const band = document.querySelector(".editor-instance .view-overlays .debug-top-stack-frame-line");
      if (band === null) return undefined;
      const at = (selector) => [...document.querySelectorAll(`.editor-instance ${selector}`)].find((e) => Math.abs(top(e) - top(band)) < 6);
      return { line: Number(at(".line-numbers")?.textContent), text: at(".view-line")?.textContent.replaceAll("\u00a0", " ") };
    });
  }

  /** Wait until the program stands on this line of the editor in front. */
  stoppedAt(line) {
    return eventually(`the yellow line on ${line}`, async () => {
      const yellow = await this.yellowLine();
      return yellow?.line === line ? yellow : undefined;
    });
  }

  /** Make room for the Variables view: a wider side bar, more rows, and no views that are of no use here. */
  async widenDebugView({ width, rows }) {
    const header = (view) => this.page.locator(`.pane-header[aria-label^="${view}"]`);
    for (const view of ["Watch", "Loaded Scripts"]) {
      if ((await header(view).getAttribute("aria-expanded")) === "true") await header(view).click();
    }
    const bar = await this.page.locator(".part.sidebar").boundingBox();
    await this.drag([bar.x + bar.width, bar.y + bar.height / 2], [bar.x + width, bar.y + bar.height / 2]);
    const below = await header("Call Stack").boundingBox();
    await this.drag([below.x + 200, below.y], [below.x + 200, bar.y + 80 + 22 * rows]);
  }

  async drag(from, to) {
    await this.page.mouse.move(...from);
    await this.page.mouse.down();
    await this.page.mouse.move(...to, { steps: 5 });
    await this.page.mouse.up();
  }

  key(name) {
    return this.page.keyboard.press(name);
  }

  rows(view) {
    return this.page.locator(`.debug-${view} .monaco-list-row`);
  }

  /** Texts of the rows of a debug view: variables, call-stack, breakpoints. */
  async texts(view) {
    return (await this.rows(view).allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
  }

  /** Open a row of the Variables view and wait for what is in it. */
  async expand(row) {
    const index = async () => Number(await row.getAttribute("data-index"));
    if ((await row.getAttribute("aria-expanded")) === "true") return;
    const before = await this.rows("variables").count();
    await row.locator(".monaco-tl-twistie").click();
    await eventually(`the content of row ${await index()}`, async () => (await row.getAttribute("aria-expanded")) === "true" && (await this.rows("variables").count()) >= before);
  }

  /** Names of the debug toolbar's buttons. */
  async buttons() {
    return this.page.locator(".debug-toolbar .action-label, .part.sidebar .title-actions .action-label")
      .evaluateAll((all) => all.map((e) => e.getAttribute("aria-label")).filter(Boolean));
  }

  /** Click a button of a toolbar. */
  async press(button) {
    await this.closeMenu();
    await this.page.locator(`.action-label[aria-label^="${button}"]`).first().click();
  }

  /** Close the context menu if one is open: while it is, nothing else takes clicks. */
  async closeMenu() {
    const menu = this.page.locator(".context-view-block, .context-view .monaco-menu");
    await eventually("the menu to close", async () => {
      if ((await menu.count()) === 0) return true;
      await this.key("Escape");
      return false;
    });
  }

  /** Choose an entry of the context menu of a row; when this is done, the menu is gone. */
  async choose(row, label) {
    const entry = this.page.locator(".context-view .monaco-menu .action-label", { hasText: label });
    // The pane shows the rows of the last stop until those of this one have arrived: ask again.
    await eventually(`${label} in the menu`, async () => {
      await this.closeMenu();
      await row.click({ button: "right" });
      return eventually("it", () => entry.isVisible(), 1500).catch(() => false);
    });
    // A menu that has only just opened does not take clicks yet.
    await eventually("the menu to take the click", async () => {
      await entry.click({ timeout: 1000 }).catch(() => undefined);
      return eventually("it", async () => !(await entry.isVisible()), 1000).catch(() => false);
    });
    await this.closeMenu();
  }

  /** Wait until no session is left: the toolbar is gone with the last one. */
  ended() {
    return eventually("the end of the session", () => this.isEnded());
  }

  async isEnded() {
    return !(await this.buttons()).some((button) => /^(Stop|Disconnect|Pause|Continue)/.test(button));
  }

  /** End the session. The key is lost while the focus goes to a page that is being loaded again: press it until it is heard. */
  stop() {
    return eventually("the end of the session", async () => {
      await this.key("Shift+F5");
      return eventually("it", () => this.isEnded(), 5000).catch(() => false);
    });
  }

  /** Type one line into the Debug Console; returns the console's rows then. */
  async evaluate(expression) {
    await this.command("Debug Console: Focus on Debug Console View");
    await this.page.locator(".repl .repl-input-wrapper .monaco-editor.focused").waitFor();
    await this.page.keyboard.type(expression, { delay: 20 });
    await this.page.locator(".repl .repl-input-wrapper .view-line", { hasText: expression }).waitFor();
    await sleep(300); // a list of completions opens late, and would take the Enter
    await this.page.keyboard.press("Escape");
    await this.page.keyboard.press("Enter");
  }

  console(text) {
    return this.page.locator(".repl .monaco-list-row", { hasText: text }).first();
  }

  /** Open the tensor view from the menu of a row of the Variables view. */
  viewTensor(name) {
    return this.choose(this.rows("variables").filter({ hasText: name }).first(), "View Tensor");
  }

  /** The page of a view of the extension's that holds an element like this, and the text. */
  webview(selector, text = "", patience = PATIENCE) {
    return eventually(`a view with ${selector}`, async () => {
      for (const frame of this.page.frames()) {
        const found = await frame.locator(selector).count().catch(() => 0);
        // A page that is being replaced may go between the two questions.
        const shown = found > 0 ? await frame.locator("body").textContent().catch(() => undefined) : undefined;
        if (shown?.includes(text)) return frame;
      }
      return undefined;
    }, patience);
  }

  /** Click on what opens a page, and again where a list was drawn anew under the pointer; the page. */
  opened(target, selector, text = "") {
    return eventually(`a view with ${selector} of a click`, async () => {
      await target.click();
      return this.webview(selector, text, PATIENCE / 3).catch(() => undefined);
    }, 2 * PATIENCE);
  }

  /** What axe finds serious or critical in a page: rule, element and what to do, each in a line. */
  async audit(page) {
    await page.evaluate(AXE);
    return page.evaluate(async () => {
      const { violations } = await axe.run(document, { resultTypes: ["violations"] });
      return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary.replace(/\s+/g, " ")}`));
    });
  }

  /** Show the extension's own views in the side bar. */
  async openContainer() {
    // Its badge lies over it, and belongs to the same item.
    await this.page.locator(".activitybar .action-item:has(.action-label[aria-label^='TPU'])").click();
    await this.page.locator('.pane-header[aria-label^="Models"], .pane-header[aria-label^="模型"]').waitFor();
  }

  /** Close a pane of the side bar, or open it. */
  async fold(pane, open = false) {
    const header = this.page.locator(`.pane-header[aria-label^="${pane}"]`).first();
    if ((await header.getAttribute("aria-expanded")) !== String(open))
      await header.click({ position: { x: 30, y: 8 } }); // its buttons are to the right
  }

  /** The question that must be answered before anything else; its text and its buttons. */
  async question() {
    const dialog = this.page.locator(".monaco-dialog-box");
    await dialog.waitFor({ timeout: PATIENCE });
    return { text: await dialog.innerText(), buttons: await dialog.locator(".monaco-button").allInnerTexts() };
  }

  /** Answer it. */
  async answer(button) {
    await this.page.locator(".monaco-dialog-box .monaco-button", { hasText: button }).first().click();
  }

  /** A message in the corner that contains this. */
  notification(text) {
    return this.page.locator(".notification-list-item", { hasText: text }).first();
  }

  /** The status bar's entry that begins with this. */
  statusBar(text) {
    return this.page.locator(".statusbar-item", { hasText: text }).first();
  }

  /**
   * Choose a colour theme by its name, or a part of it: the names of the built-in ones have changed. Returns once the
   * workbench has it and the pages of all views, which it reaches later.
   */
  async theme(name) {
    const other = /Light/.test(name) ? "Dark Modern" : "Light Modern";
    for (let left = 2; ; left--) {
      const failed = await this.chooseTheme(name).then(() => undefined, (error) => error);
      if (failed === undefined) break;
      if (left === 0) throw failed;
      await this.chooseTheme(other).catch(() => undefined); // a page that was loaded just then has the old one until the next change
    }
    await sleep(500); // some colours change by and by
  }

  async chooseTheme(name) {
    const input = this.page.locator(".quick-input-widget input").first();
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first();
    const [workbench, view] = /High Contrast/.test(name) ? ["hc-black", "high-contrast"] : /Light/.test(name) ? ["vs", "light"] : ["vs-dark", "dark"];
    // Soon after the start the list has no themes yet, and does not get them while it is open.
    await eventually(`the theme ${name}`, async () => {
      await this.command("Preferences: Color Theme");
      await sleep(300);
      await input.fill(name);
      const chosen = await row.click({ timeout: 2000 }).then(() => true, () => false);
      if (!chosen) await this.key("Escape");
      return chosen;
    }, 3 * PATIENCE);
    await this.page.locator(`.monaco-workbench.${workbench}`).waitFor();
    await eventually(`the theme ${name} in all views`, async () => (await this.viewThemes()).every((kind) => kind === `vscode-${view}`));
  }

  /** The kinds of themes that the pages of views have, by VS Code's attribute of their bodies. */
  async viewThemes() {
    // A page that is being replaced has none any more.
    const kind = (frame) => frame.evaluate(() => document.body?.dataset.vscodeThemeKind).catch(() => undefined);
    return (await Promise.all(this.page.frames().map(kind))).filter(Boolean);
  }
}
