// One session, two clients: a user in the real VS Code, and an agent that looks at the same session.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expected, openSample } from "./sample.mjs";
import { eventually } from "./workbench.mjs";

const AGENT = fileURLToPath(new URL("agent.py", import.meta.url));
const { workbench, step } = await openSample("agent", { width: 1280, height: 800 });
const { page } = workbench;
const file = join(expected.directory, "agent.json");

/** Answers of an agent that is started with the copied configuration. */
async function ask(...questions) {
  const words = questions.flatMap(([tool, words]) => [tool, JSON.stringify(words)]);
  const { stdout } = await promisify(execFile)(process.env.PYTHON, [AGENT, file, ...words], { timeout: 60_000 });
  return JSON.parse(stdout);
}

const { pool } = expected.lines;

describe("an agent beside the user", () => {
  step("is invited from the palette, and its configuration copied", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await workbench.openFile("final.mlir");
    await workbench.clickGutter(pool);
    await workbench.key("F5");
    await workbench.stoppedAt(pool);
    await workbench.command("TDB: Let an Agent Look");
    const message = workbench.notification("looks at this session without moving you").or(workbench.notification("They look without moving you"));
    await message.first().waitFor();
    await workbench.shot("agent-invited");
    await message.first().locator(".monaco-button", { hasText: "Copy Configuration" }).click();
    const text = await eventually("the configuration", () => page.evaluate(() => navigator.clipboard.readText()).catch(() => undefined));
    assert.deepEqual(Object.keys(JSON.parse(text).mcpServers), ["tdb-dap"]);
    writeFileSync(file, text);
  });

  step("looks elsewhere, which is told, and moves nobody", async () => {
    const [there, writer, tensor, mark] = await ask(
      ["stop_when", { place: "tpu.Softmax" }],
      ["who_wrote", { expression: "in[0]" }],
      ["read_tensor", { expression: "in[0]", values: 4 }],
      ["bookmark", { name: "here" }],
    );
    assert.match(there, /tpu\.Softmax/);
    assert.match(writer, /B\d+|D\d+/);
    assert.match(tensor, /f32|f16|si8|ui8/);
    assert.match(mark, /here: command \d+/);
    await workbench.command("Debug Console: Focus on Debug Console View");
    await workbench.console("agent sets the bookmark here").waitFor();
    await workbench.console("agent goes to command").waitFor();
    assert.equal((await workbench.yellowLine())?.line, pool);
    await workbench.shot("agent-looks");
  });

  step("moves the user when it is asked to show", async () => {
    await ask(["stop_when", { place: "tpu.Softmax", show: true }]);
    await eventually("the yellow line", async () => (await workbench.yellowLine())?.text.includes("tpu.Softmax"));
    assert.notEqual((await workbench.yellowLine()).line, pool);
    await workbench.shot("agent-shows");
  });

  step("is gone with the session", async () => {
    await workbench.press("Stop");
    await workbench.ended();
    await assert.rejects(ask(["bookmark", {}]));
  });
});
