// The extension in Theia, which has a debug client of its own: breakpoint by mouse, F5, the operand in the variables.
//
// Environment: THEIA (where it is built), VSIX, EXPECTED (output of sample.py), SHOTS, TRANSCRIPTS.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openPage } from "../vscode/browser.mjs";

const { THEIA, VSIX, EXPECTED, SHOTS, TRANSCRIPTS } = process.env;
const { directory, lines, values, operand } = JSON.parse(readFileSync(EXPECTED, "utf8"));
const state = mkdtempSync(join(tmpdir(), "tdb-theia-"));
let server, url, page, close;

const freePort = () =>
  new Promise((found) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });

before(async () => {
  mkdirSync(join(state, "plugins", "tdb"), { recursive: true });
  execFileSync("unzip", ["-qo", VSIX], { cwd: join(state, "plugins", "tdb") });
  mkdirSync(join(directory, ".theia"), { recursive: true });
  writeFileSync(join(directory, ".theia", "settings.json"), JSON.stringify({ "tdb.adapter.logDirectory": TRANSCRIPTS }));
  // Without a configuration Theia asks for the debugger first.
  const configuration = { type: "tdb", request: "launch", name: "toy", program: directory,
    inputs: join(directory, "input.npz"), stopOnEntry: false };
  writeFileSync(join(directory, ".theia", "launch.json"),
    JSON.stringify({ version: "0.2.0", configurations: [configuration] }));
  const port = await freePort();
  url = `http://127.0.0.1:${port}/`;
  const log = openSync(join(state, "log"), "w");
  server = spawn("npx", ["theia", "start", directory, "--hostname", "127.0.0.1", "--port", String(port),
    `--plugins=local-dir:${join(state, "plugins")}`],
    { cwd: THEIA, detached: true, stdio: ["ignore", log, log], env: { ...process.env, HOME: state } });
  for (let tries = 0; ; tries++) {
    if (await fetch(url).then((answer) => answer.ok, () => false)) break;
    assert.ok(tries < 120, "Theia does not start");
    await sleep(500);
  }
  ({ page, close } = await openPage({ width: 1500, height: 950 }));
});

after(async () => {
  await page?.screenshot({ path: join(SHOTS, "theia.png") }).catch(() => {});
  await close?.();
  if (server) process.kill(-server.pid);
  rmSync(state, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

it("stops at the breakpoint in the gutter and shows the operand", async () => {
  await page.goto(`${url}#${directory}`);
  const files = page.locator(".theia-app-left .codicon-files").first();
  await files.waitFor({ timeout: 60000 });
  await page.waitForTimeout(5000); // plug-ins load after the shell is up
  const file = page.locator(".theia-FileStatNode", { hasText: "final.mlir" }).last();
  if (!(await file.isVisible())) await files.click();
  await file.dblclick();
  await page.locator(".monaco-editor .view-line").first().waitFor();
  await page.waitForTimeout(2000);
  const number = page.locator(".monaco-editor .line-numbers", { hasText: new RegExp(`^${lines.pool}$`) }).first();
  const box = await number.boundingBox();
  await page.mouse.click(box.x - 8, box.y + 8);
  await page.locator(".theia-debug-breakpoint, .monaco-editor [class*=debug-breakpoint]").first().waitFor();
  await page.keyboard.press("F5");
  const row = page
    .locator(".theia-TreeNode, .theia-debug-console-variable", { hasText: operand.row })
    .first();
  await row.waitFor({ timeout: 60000 });
  assert.ok((await row.innerText()).includes(values.operand), await row.innerText());
  assert.ok((await page.locator(".theia-debug-stack-frame, .theia-TreeNode", { hasText: "tpu.Pool2D" }).count()) > 0);
});
