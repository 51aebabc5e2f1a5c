// Runs inside.cjs in the extension host of a real VS Code and reports what it found.
//
// Environment: CODE_SERVER, EXTENSION (its folder, built), EXPECTED (output of sample.py), PYTHON, TRANSCRIPTS.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { openPage } from "./browser.mjs";
import { CodeServer } from "./server.mjs";
import { eventually } from "./workbench.mjs";

const { CODE_SERVER, EXTENSION, EXPECTED, PYTHON, TRANSCRIPTS } = process.env;
const { directory } = JSON.parse(readFileSync(EXPECTED, "utf8"));
const PATIENCE = 180_000;

async function results() {
  const state = mkdtempSync(join(tmpdir(), "tdb-code-server-"));
  const file = join(directory, "results.json");
  writeFileSync(join(directory, "plan.json"), JSON.stringify({ python: PYTHON, transcripts: TRANSCRIPTS }));
  mkdirSync(join(directory, ".vscode"));
  writeFileSync(join(directory, ".vscode/settings.json"), "{}");
  const server = await CodeServer.start({ home: CODE_SERVER, state, vsix: [], settings: { "tdb.adapter.logDirectory": TRANSCRIPTS } });
  let close;
  try {
    const browser = await openPage();
    close = browser.close;
    const remote = (path) => `vscode-remote://${new URL(server.url).host}${path}`;
    const payload = [
      ["extensionDevelopmentPath", remote(EXTENSION)],
      ["extensionTestsPath", remote(fileURLToPath(new URL("inside.cjs", import.meta.url)))],
    ];
    await browser.page.goto(`${server.url}/?folder=${encodeURIComponent(directory)}&payload=${encodeURIComponent(JSON.stringify(payload))}`);
    await eventually("the results", () => existsSync(file), PATIENCE).catch((error) => {
      const progress = join(directory, "progress.json");
      throw new Error(`${error.message}; so far: ${existsSync(progress) ? readFileSync(progress, "utf8") : "nothing"}`);
    });
    return JSON.parse(readFileSync(file, "utf8"));
  } finally {
    await close?.();
    server.stop();
    rmSync(state, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
}

describe("the extension, inside VS Code,", async () => {
  for (const { name, error } of await results()) {
    it(name, () => assert.equal(error, undefined));
  }
});
