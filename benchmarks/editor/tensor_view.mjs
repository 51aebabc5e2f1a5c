// How long the tensor view of the real VS Code takes to show a large tensor, and how smoothly it is moved.
//
// Started by `run` beside this file. Environment: CODE_SERVER, VSIX, MODEL (a directory made by large_tensor.py),
// SHOTS.
import { readdirSync, readFileSync, rmSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CodeServer } from "../../tests/clients/vscode/server.mjs";
import { eventually, Workbench } from "../../tests/clients/vscode/workbench.mjs";

const { CODE_SERVER, VSIX, MODEL, SHOTS } = process.env;
const TIMES = 5;

/** Resident memory of the adapter, MiB: private and shared, as /proc has it. */
function adapterMemory() {
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ");
      if (!/tdb-dap adapter|tdb_dap.adapter|tdb_dap adapter/.test(command)) continue;
      return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))[1]) / 1024;
    } catch { /* it has ended meanwhile */ }
  }
  return NaN;
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const told = (numbers) => `median ${median(numbers).toFixed(0)} ms, longest ${Math.max(...numbers).toFixed(0)} ms`;

/** The frame of the tensor view, when it began to load its own files, and when it painted the first picture. */
async function firstPicture(page) {
  const look = () => {
    const [painted] = performance.getEntriesByName("first picture");
    if (painted === undefined) return undefined;
    const files = performance.getEntriesByType("resource").filter(({ name }) => name.includes("tensor."));
    const { timeOrigin } = performance;
    return { begun: timeOrigin + Math.min(...files.map(({ startTime }) => startTime)), painted: timeOrigin + painted.startTime };
  };
  return eventually("the picture", async () => {
    for (const frame of page.frames()) {
      const times = await frame.evaluate(look).catch(() => undefined);
      if (times !== undefined) return { frame, ...times };
    }
    return undefined;
  }, 60_000);
}

const state = mkdtempSync(join(tmpdir(), "tdb-code-server-"));
const server = await CodeServer.start({ home: CODE_SERVER, state, vsix: [VSIX] });
try {
  const workbench = await Workbench.open({ url: server.url, folder: MODEL, shots: SHOTS, width: 1600, height: 1000 });
  const row = () => workbench.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "model.bmodel" }).first();
  await row().waitFor({ timeout: 60_000 });
  const editor = await eventually("the editor of the model", async () => {
    await row().dblclick();
    return workbench.webview("table", "BM1684X", 4000).catch(() => undefined);
  }, 60_000);
  await editor.getByRole("button", { name: "Debug this model" }).click();
  await eventually("the session", async () => (await workbench.buttons()).some((button) => button.startsWith("Continue")), 60_000);
  await sleep(2000);

  const before = adapterMemory();
  const [opened, painted] = [[], []];
  let view;
  for (let time = 0; time < TIMES; time++) {
    await workbench.command("TDB: View Tensor");
    const input = workbench.page.locator(".quick-input-widget input").first();
    await input.waitFor();
    await input.fill('#loc("large")');
    const asked = Date.now();
    await workbench.key("Enter");
    const { frame, begun, painted: seen } = await firstPicture(workbench.page);
    view = frame;
    painted.push(seen - begun);
    opened.push(seen - asked);
    if (time === 0) console.log(`adapter: ${before.toFixed(0)} MiB before, ${adapterMemory().toFixed(0)} MiB behind the first picture`);
    if (time < TIMES - 1) {
      await workbench.command("View: Close Editor");
      await sleep(500);
    }
  }
  console.log(await view.locator("h1").textContent());
  console.log(`first picture, from the moment that VS Code lets the view load its files: ${told(painted)}`);
  console.log(`first picture, from the command, with the second that VS Code takes to make a page: ${told(opened)}`);
  await workbench.shot("large-tensor");

  for (const [what, zoom] of [["all in sight", 0], ["elements of a few pixels", 1]]) {
    const { frames, waits } = await view.evaluate(async (zoom) => {
      const canvas = document.querySelector("#map-actual");
      const box = canvas.getBoundingClientRect();
      const at = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true, cancelable: true };
      for (let i = 0; zoom && i < 40; i++) canvas.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: -120 }));
      const frame = () => new Promise(requestAnimationFrame);
      const complete = async () => {
        const begun = performance.now();
        while (document.body.dataset.complete !== "true") await frame();
        return performance.now() - begun;
      };
      await frame();
      await complete();
      const [frames, waits] = [[], []];
      for (let step = 0; step < 60; step++) {
        const begun = performance.now();
        canvas.dispatchEvent(new WheelEvent("wheel", { ...at, deltaX: 35, shiftKey: true }));
        await frame();
        await frame();
        frames.push((performance.now() - begun) / 2);
        if (step % 10 === 9) waits.push(await complete());
      }
      return { frames, waits };
    }, zoom);
    console.log(`moving, ${what}: a frame takes ${told(frames)}; the last tile is there after ${told(waits)}`);
  }
  console.log(`adapter: ${adapterMemory().toFixed(0)} MiB at the end`);
  await workbench.close();
} finally {
  server.stop();
  rmSync(state, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
