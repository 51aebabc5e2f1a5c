// Runs inside VS Code's extension host, with its whole API and no clicking. Started by extension.test.mjs, which
// leaves a file `plan.json` in the workspace and waits for `results.json` there.
"use strict";
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { copyFileSync, mkdirSync, readFileSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const vscode = require("vscode");

const folder = vscode.workspace.workspaceFolders[0];
const at = (name) => join(folder.uri.fsPath, name);
const plan = JSON.parse(readFileSync(at("plan.json"), "utf8"));
const PATIENCE = 30_000;

/** The first value of an event for which `wanted` holds. */
function once(event, wanted = () => true) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => { subscription.dispose(); reject(new Error("timed out")); }, PATIENCE);
    const subscription = event((value) => {
      if (!wanted(value)) return;
      clearTimeout(timer);
      subscription.dispose();
      resolve(value);
    });
  });
}

/** Run `body` with the configuration `values` of the workspace and the environment variable PATH. */
async function having({ path = process.env.PATH, ...values }, body) {
  const before = process.env.PATH;
  const write = (set) => Promise.all(Object.keys(values).map((key) =>
    vscode.workspace.getConfiguration().update(key, set ? values[key] : undefined, vscode.ConfigurationTarget.Workspace)));
  process.env.PATH = path; // the extension runs in this very process
  await write(true);
  try {
    return await body();
  } finally {
    process.env.PATH = before;
    await write(false);
  }
}

/** Start a session, wait until it stands in a frame, ask it for its stack and end it. */
async function visit(start) {
  const stopped = once(vscode.debug.onDidChangeActiveStackItem, (item) => item?.frameId !== undefined);
  assert.ok(await start());
  const { session } = await stopped;
  const { stackFrames } = await session.customRequest("stackTrace", { threadId: 1, startFrame: 0, levels: 20 });
  const ended = once(vscode.debug.onDidTerminateDebugSession);
  await vscode.debug.stopDebugging(session);
  await ended;
  return { configuration: session.configuration, stackFrames };
}

const launch = { type: "tdb", request: "launch", name: "test", program: folder.uri.fsPath };

const tests = {
  async "knows its files by their names"() {
    const languageOf = async (name) => (await vscode.workspace.openTextDocument(at(name))).languageId;
    assert.equal(await languageOf("final.mlir"), "mlir");
    writeFileSync(at("toy.tdbasm"), "");
    assert.equal(await languageOf("toy.tdbasm"), "tdb-asm");
  },

  async "asks the language server about final.mlir, without a session"() {
    const { uri } = await vscode.workspace.openTextDocument(at("final.mlir"));
    const ask = async (command, ...more) => {
      for (let tries = 0; tries < 150; tries++) {
        const found = await vscode.commands.executeCommand(command, uri, ...more);
        if (found?.length > 0) return found;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      throw new Error(`${command}: nothing`);
    };
    const symbols = await ask("vscode.executeDocumentSymbolProvider");
    assert.ok(symbols.some(({ name }) => name.includes("subfunc_0")), symbols.map(({ name }) => name).join());
    const lines = readFileSync(at("final.mlir"), "utf8").split("\n");
    const line = lines.findIndex((text) => text.includes('"tpu.Pool2D"'));
    const operand = /"tpu.Pool2D"\((%\d+)\)/.exec(lines[line])[1];
    const place = new vscode.Position(line, lines[line].indexOf(`(${operand})`) + 2);
    const [hover] = await ask("vscode.executeHoverProvider", place);
    assert.match(hover.contents.map(({ value }) => value).join(), /1x16x32x32xf32/);
    const [definition] = await ask("vscode.executeDefinitionProvider", place);
    assert.match(lines[(definition.range ?? definition.targetRange).start.line], new RegExp(`^ *${operand} = `));
  },

  async "debugs the model of the file that its command is given"() {
    const { configuration } = await visit(async () => {
      await vscode.commands.executeCommand("tdb.debugModel", vscode.Uri.file(at("final.mlir")));
      return true;
    });
    assert.equal(configuration.program, folder.uri.fsPath);
    assert.equal(configuration.stopOnEntry, true, "there is no breakpoint to stop at");
  },

  async "debugs the bmodel whose tab is in front, where there are several"() {
    const other = at("other/net.bmodel.xz");
    mkdirSync(at("other"));
    copyFileSync(at("compilation.bmodel.xz"), other);
    await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(other));
    const { configuration } = await visit(() => vscode.debug.startDebugging(folder, { type: "tdb", request: "launch", name: "test" }));
    assert.equal(configuration.program, other);
  },

  async "takes a path of the launch configuration from the workspace's folder"() {
    const { configuration } = await visit(() => vscode.debug.startDebugging(folder, { ...launch, program: ".", inputs: "input.npz" }));
    assert.equal(configuration.program, folder.uri.fsPath);
    assert.equal(configuration.inputs, at("input.npz"));
  },

  async "finds the adapter in the selected interpreter when PATH has none"() {
    const { stackFrames } = await having({ path: "" }, () => {
      // Not through the settings' API: no extension here has registered this name of the Python extension's.
      const settings = at(".vscode/settings.json");
      const before = readFileSync(settings, "utf8");
      writeFileSync(settings, JSON.stringify({ ...JSON.parse(before), "python.defaultInterpreterPath": plan.python }));
      return once(vscode.workspace.onDidChangeConfiguration, (change) => change.affectsConfiguration("python"))
        .then(() => visit(() => vscode.debug.startDebugging(folder, launch)))
        .finally(() => writeFileSync(settings, before));
    });
    assert.ok(stackFrames.length > 1);
  },

  async "uses the command line of its setting before all else"() {
    const { stackFrames } = await having(
      { path: "", "tdb.adapter.command": [plan.python, "-m", "tdb_dap.adapter", "--log", join(plan.transcripts, "vscode-command.jsonl")] },
      () => visit(() => vscode.debug.startDebugging(folder, launch)),
    );
    assert.ok(stackFrames.length > 1);
  },

  async "does not start without an adapter"() {
    assert.equal(await having({ path: "" }, () => vscode.debug.startDebugging(folder, launch)), false);
    assert.equal(vscode.debug.activeDebugSession, undefined);
  },

  async "attaches to an adapter that listens"() {
    const adapter = spawn(plan.python, ["-m", "tdb_dap.adapter", "--listen", "127.0.0.1:0", "--token", "sesame",
      "--log", join(plan.transcripts, "vscode-attach.jsonl")]);
    try {
      let said = "";
      const port = await new Promise((resolve, reject) => {
        adapter.on("exit", () => reject(new Error(said)));
        adapter.stdout.on("data", (chunk) => {
          said += chunk;
          const found = /listening on .*:(\d+)\s/.exec(said);
          if (found) resolve(Number(found[1]));
        });
      });
      const { stackFrames } = await visit(() => vscode.debug.startDebugging(folder,
        { ...launch, request: "attach", host: "127.0.0.1", port, token: "sesame" }));
      assert.ok(stackFrames.length > 1);
    } finally {
      adapter.kill();
    }
  },
};

exports.run = async () => {
  const results = [{ name: `VS Code ${vscode.version}` }];
  for (const [name, body] of Object.entries(tests)) {
    const error = await body().then(() => undefined, (error) => String(error.stack ?? error));
    results.push({ name, error });
  }
  writeFileSync(at("results.json"), JSON.stringify(results));
};
