// What can be read and reached on a network of 300 ops with long names, in a window of 1280 x 800, in three themes and
// two languages: from F5 to the op at fault without a click, and each view next to the source.
//
// Environment: as for sample.mjs; EXPECTED: output of network.py.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { expected } from "./sample.mjs";
import { CodeServer } from "./server.mjs";
import { eventually, Workbench } from "./workbench.mjs";

const { CODE_SERVER, VSIX, SHOTS, TRANSCRIPTS } = process.env;
const { wrong, directory } = expected;
const THEMES = { dark: "Dark Modern", light: "Light Modern", contrast: "Dark High Contrast" };
const COMMANDS = {
  en: { memory: "TDB: Show Chip Memory", graph: "TDB: Show Graph", timeline: "TDB: Show Timeline" },
  "zh-cn": { memory: "TDB: 显示芯片内存", graph: "TDB: 显示计算图", timeline: "TDB: 显示时间线" },
};
const METRICS = /^(verdict|cosine|max abs|bad %|结论|余弦|最大绝对|超差 %)/;

const state = mkdtempSync(join(tmpdir(), "tdb-code-server-"));
const server = await CodeServer.start({ home: CODE_SERVER, state, vsix: [VSIX], settings: { "tdb.adapter.logDirectory": TRANSCRIPTS } });
after(() => {
  server.stop();
  rmSync(state, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

/** Labels of a view that stand for several names, by the full name that their hover has. */
async function alike(view, selector, fullOf) {
  const pairs = await view.locator(selector).evaluateAll((all, fullOf) => all.map((one) => [one.textContent.trim(), new Function("one", `return ${fullOf}`)(one)]), fullOf);
  const names = new Map();
  for (const [label, name] of pairs) names.set(label, new Set([...(names.get(label) ?? []), name]));
  return { count: pairs.length, alike: [...names].filter(([, of]) => of.size > 1).map(([label]) => label) };
}

/** Texts of a page that are English sentences; names of tensors and of memories are not the extension's. */
const english = (view) => view.locator("button, option, label, th, dt, h1, h2, .status, [title], [aria-label]").evaluateAll((all) =>
  all.flatMap((one) => [one.children.length === 0 ? one.textContent : "", ...["title", "aria-label"].map((name) => one.getAttribute(name) ?? "")])
    .filter((text) => /[a-z]{2,} [a-z]{2,}/i.test(text) && !/[\u4e00-\u9fff]/.test(text) && !/ memory\b|_|[^ ]…$|^SQNR dB$/.test(text)));

for (const language of ["en", "zh-cn"])
  describe(`in ${language}`, () => {
    let workbench, page, view;
    let failed = false;
    const columns = () => page.locator(".editor-group-container").count();
    const isInEditor = () => page.evaluate(() => document.activeElement?.closest(".editor-instance .monaco-editor") != null);
    const isInPage = () => page.evaluate(() => document.activeElement?.localName === "iframe");
    const show = async (what, selector) => {
      await workbench.command(COMMANDS[language][what]);
      view = await workbench.webview(selector, "", 60_000);
      assert.ok((await columns()) <= 2, `${what}: ${await columns()} columns`);
      if (language !== "en") assert.deepEqual(await english(view), [], what);
    };
    /** Whether elements of the page are in the part of it that is seen. */
    const inSight = (selector) => view.locator(selector).evaluateAll((all) => all.filter((one) => {
      const { left, right, top, width } = one.getBoundingClientRect();
      return width > 0 && left >= 0 && right <= window.innerWidth && top <= window.innerHeight;
    }).map((one) => one.textContent.trim()));
    /** Click into the page; the keyboard stays there, also where VS Code shows another line. */
    const click = async (locator, line) => {
      await locator.click();
      if (line === undefined) await workbench.cursorAt(wrong.line);
      else await workbench.stoppedAt(line);
      await page.waitForTimeout(1500); // whatever takes the keyboard has done so
      assert.ok(await isInPage(), "the keyboard after a click");
    };
    const story = (what, body) => it(what, async (context) => {
      if (failed) return context.skip("an earlier step failed");
      failed = true;
      try {
        await body();
        failed = false;
      } finally {
        if (failed) await workbench.shot(`failed-legible-${language}-${what.replace(/\W+/g, "-")}`);
      }
    });

    before(async () => {
      workbench = await Workbench.open({ url: server.url, folder: directory, shots: SHOTS, width: 1280, height: 800, language: language === "en" ? undefined : language });
      ({ page } = workbench);
    });
    after(() => workbench.close());

    for (const [kind, theme] of Object.entries(THEMES)) {
      const shot = (name) => workbench.shot(`legible-${name}-${kind}-${language}`);

      story(`${kind}: no click leads from F5 to the op at fault`, async () => {
        await workbench.theme(theme);
        await workbench.command("View: Close All Editors");
        await workbench.openFile("final.mlir");
        await page.locator(".codelens-decoration").first().waitFor();
        await workbench.key("F5");
        await eventually("the first stop", () => workbench.yellowLine());
        await workbench.key("F5");
        await page.locator(".exception-widget").waitFor();
        await workbench.stoppedAt(wrong.line);
        view = await workbench.webview("tr.culprit", "", 60_000);
        assert.equal(await view.locator("tr.culprit td.name").first().getAttribute("title"), wrong.name);
        assert.ok((await columns()) <= 2);
        assert.ok(await isInEditor(), "the keyboard where it was");
        const metrics = (await inSight("th")).filter((text) => METRICS.test(text));
        assert.ok(metrics.length >= 4, metrics);
        if (language !== "en") assert.deepEqual(await english(view), []);
        await shot("compare");
      });

      story(`${kind}: what is compared is told apart`, async () => {
        const only = view.locator(".bar input[type=checkbox]").first();
        await only.uncheck();
        await eventually("all tensors", async () => (await view.locator("tbody tr").count()) > 100);
        assert.deepEqual((await alike(view, "td.name", "one.title")).alike, []);
        await only.check();
      });

      story(`${kind}: chip memory has no tensor alive under 8 pixels`, async () => {
        await show("memory", ".resident.alive rect");
        await view.locator(".present tbody tr").first().waitFor();
        const heights = await view.locator(".resident.alive rect").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
        assert.ok(heights.length > 0);
        assert.deepEqual(heights.filter((height) => height < 8), []);
        assert.deepEqual((await alike(view, ".present button", "one.title || one.textContent")).alike, []);
        await shot("memory");
      });

      story(`${kind}: the graph's boxes are told apart, and a click leaves the keyboard there`, async () => {
        await show("graph", ".node .face");
        const labels = await eventually("boxes", async () => {
          const found = await alike(view, ".node:not(.block) text.name", `one.parentElement.querySelector("title").textContent.split("\\n")[1]`);
          return found.count > 2 ? found : undefined;
        });
        assert.deepEqual(labels.alike, []);
        await click(view.locator(`.node[data-line="${wrong.line}"] .face`).first());
        await shot("graph");
      });

      story(`${kind}: the timeline's ops are told apart, and Travel leaves the keyboard there`, async () => {
        await show("timeline", ".ranking tbody tr");
        const { count, alike: same } = await alike(view, ".ranking td:first-child button", "one.title");
        assert.ok(count > 100);
        assert.deepEqual(same, []);
        const first = view.locator(".ranking tbody button").first();
        const line = Number(await view.locator(".ranking tbody tr").first().getAttribute("data-line"));
        await first.click();
        await click(view.locator(".about button").last(), line);
        await shot("timeline");
        await workbench.stop();
      });
    }
  });
