// What strangers meet: no debugger, an old Python, an old debugger, one that dies. Each has one message, and its button
// works: the same F5 goes on, and nothing needs a reload.
//
// Environment: VSIX (the universal package), PLATFORM_VSIX, EXPECTED, CODE_SERVER, SHOTS, PYTHON.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fakeProgram, fakePython, openMachine } from "./machines.mjs";
import { eventually } from "./workbench.mjs";

const { VSIX, PLATFORM_VSIX, PYTHON } = process.env;
const { lines, directory } = JSON.parse(readFileSync(process.env.EXPECTED, "utf8"));

/** What reaches the registry from an empty home. */
const registry = () => {
  const file = [join(homedir(), ".config/pip/pip.conf"), join(homedir(), ".pip/pip.conf")].find(existsSync);
  const given = Object.entries(process.env).filter(([name]) => name.startsWith("PIP_"));
  return { ...Object.fromEntries(given), ...(file && { PIP_CONFIG_FILE: file }) };
};

/** The interpreter that PYTHON's environment was made with: it has no packages. */
const basePython = () => execFileSync(PYTHON, ["-c", "import sys; print(sys._base_executable)"], { encoding: "utf8" }).trim();

async function pressF5(workbench) {
  await workbench.openFile("final.mlir");
  await workbench.clickGutter(lines.pool);
  await workbench.key("F5");
}

const logShows = (workbench, text) =>
  workbench.page.locator(".part.panel .view-line", { hasText: new RegExp(text.replaceAll(" ", "\\s")) }).first().waitFor({ timeout: 20_000 });

describe("without any Python", async () => {
  const { workbench } = await openMachine({ vsix: VSIX, folder: directory });

  it("F5 says so, in one question", async () => {
    await pressF5(workbench);
    const { text, buttons } = await workbench.question();
    assert.match(text, /TDB: The debugger is not installed yet, and no Python was found on this machine\./);
    // Systems differ in the order of buttons.
    assert.deepEqual(buttons.filter((label) => label !== "Cancel").sort(), ["Choose Python...", "Install into a Private Environment", "Show Log"]);
    await workbench.shot("install-no-python");
  });

  it("installing says what is missing", async () => {
    await workbench.answer("Install");
    await workbench.notification("No Python 3.10 or newer was found on this machine; install one, or uv.").waitFor();
    await workbench.shot("install-impossible");
  });

  it("the status bar says it, too", () => workbench.statusBar("TDB: not installed").waitFor());
});

describe("with Python 3.9 alone", async () => {
  const { workbench } = await openMachine({ vsix: VSIX, folder: directory, programs: { python3: fakePython([3, 9, 18]) } });

  it("F5 says that it is too old, and the log where it is", async () => {
    await pressF5(workbench);
    const { text } = await workbench.question();
    assert.match(text, /The debugger is not installed yet\. .*python3: it is Python 3\.9; tdb-dap needs 3\.10 or newer\./);
    await workbench.shot("install-old-python");
    await workbench.answer("Show Log");
    await workbench.shot("install-log");
    await logShows(workbench, "python3: old python 3.9");
  });
});

describe("with a debugger that is older than the extension", async () => {
  const programs = { "tdb-dap": fakeProgram("0.0.9") };

  it("in the selected interpreter, the bundled one is used, and a notice says so once", async () => {
    const { workbench, root } = await openMachine({
      vsix: PLATFORM_VSIX, folder: directory, programs: { "python3.12": fakePython([3, 12, 1], "0.0.9") },
    });
    const selected = join(root, "bin/python3.12");
    writeFileSync(join(root, "state/data/Machine/settings.json"), JSON.stringify({ "python.defaultInterpreterPath": selected }));
    await pressF5(workbench);
    await workbench.stoppedAt(lines.pool);
    await workbench.statusBar(/bundled/).waitFor();
    const notice = workbench.notification(/TDB: skipped .*python3\.12: tdb-dap 0\.0\.9 is older than the extension, \d+\.\d+\.\d+\. Used instead: TDB .*bundled/);
    await notice.waitFor();
    await workbench.shot("install-skipped");
    assert.equal(await workbench.page.locator(".notification-list-item").count(), 1);
    await notice.getByRole("button", { name: "Show Log" }).click();
    await logShows(workbench, "bundled");
  });

  it("F5 asks where there is no other", async () => {
    const { workbench } = await openMachine({ vsix: VSIX, folder: directory, programs });
    await pressF5(workbench);
    const { text } = await workbench.question();
    assert.match(text, /The debugger that was found is too old\. .*tdb-dap 0\.0\.9 is older than the extension, \d/);
    await workbench.shot("install-too-old");
    await workbench.answer("Cancel");
    await workbench.ended();
    assert.deepEqual(await workbench.texts("call-stack"), []);
  });
});

describe("with an adapter that dies", async () => {
  const { workbench, root } = await openMachine({ vsix: VSIX, folder: directory });

  it("its end is said with its last word, and Debug Again works once it is mended", async () => {
    // One that dies at once, until the file is there.
    const script = join(root, "adapter.sh");
    const mended = join(root, "mended");
    writeFileSync(script, `#!/bin/sh\necho $$ > ${mended}.pid\n[ -e ${mended} ] && exec ${PYTHON} -m tdb_dap.adapter\necho 'no luck today' >&2\nexit 3\n`, { mode: 0o755 });
    writeFileSync(join(root, "state/data/Machine/settings.json"), JSON.stringify({ "tdb.adapter.command": [script] }));
    await pressF5(workbench);
    const message = workbench.notification("TDB: the debug adapter did not start (exit code 3). no luck today");
    await message.waitFor();
    assert.equal(await workbench.page.locator(".monaco-dialog-box").count(), 0);
    await workbench.shot("install-dead-adapter");
    writeFileSync(mended, "");
    await message.getByRole("button", { name: "Debug Again" }).click();
    await workbench.stoppedAt(lines.pool);
  });

  it("one that is killed in the middle of a session is reported, and the session ends", async () => {
    process.kill(Number(readFileSync(join(root, "mended.pid"), "utf8")), "SIGKILL");
    await workbench.notification("TDB: the debug adapter has ended unexpectedly (SIGKILL).").waitFor();
    await workbench.ended();
  });
});

describe("with a Python that the search does not know, in a remote window", async () => {
  const python = `#!/bin/sh\nexec ${PYTHON} "$@"\n`;
  const { workbench } = await openMachine({ vsix: VSIX, folder: directory, programs: { "python3.11": python } });

  it("Choose Python... lists it, and the same F5 goes on with it", async () => {
    assert.ok(await workbench.page.locator(".statusbar-item.remote-kind, #status\\.host").count());
    await pressF5(workbench);
    await workbench.question();
    await workbench.answer("Choose Python...");
    const row = workbench.page.locator(".quick-input-list .monaco-list-row", { hasText: /^Python 3\.\d+\.\d+/ }).first();
    await row.waitFor();
    await workbench.shot("install-choose-python");
    await row.click();
    await workbench.stoppedAt(lines.pool);
    await workbench.statusBar(/from the settings/).waitFor();
  });
});

describe("with a Python and a registry", async () => {
  const { workbench } = await openMachine({
    vsix: VSIX, folder: directory, programs: { python3: basePython() }, variables: registry(),
  });

  it("a .bmodel says that the debugger is not there", async () => {
    await workbench.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "compilation.bmodel" }).first().dblclick();
    await workbench.webview("body", "The debugger is not installed yet");
    await workbench.shot("install-bmodel-before");
  });

  it("F5 asks, installs, and goes on", async () => {
    await pressF5(workbench);
    const { text } = await workbench.question();
    assert.match(text, /The debugger is not installed yet\./);
    await workbench.shot("install-question");
    await workbench.answer("Install");
    await workbench.notification("Installing the debugger").waitFor();
    await workbench.shot("install-progress");
    await eventually("the stop", () => workbench.yellowLine(), 180_000);
    await workbench.stoppedAt(lines.pool);
    await workbench.statusBar(/^TDB .*private environment/).waitFor();
  });

  it("the language server and the editor of the .bmodel try again, without a reload", async () => {
    await eventually("a lens", () => workbench.page.locator(".codelens-decoration").count());
    await workbench.page.locator(".tab", { hasText: "compilation.bmodel" }).click();
    await workbench.webview("table", "BM1684X");
    await workbench.shot("install-bmodel-after");
  });
});
