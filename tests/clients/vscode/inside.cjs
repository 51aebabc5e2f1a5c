// Runs inside VS Code's extension host, with its whole API and no clicking. Started by extension.test.mjs, which
// leaves a file `plan.json` in the workspace and waits for `results.json` there; `progress.json` is for its complaint.
"use strict";
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } = require("node:fs");
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

/** Start a session, wait until it stands in a frame, ask it for its stack, look round and end it. */
async function visit(start, look = async () => {}) {
  const stopped = once(vscode.debug.onDidChangeActiveStackItem, (item) => item?.frameId !== undefined);
  assert.ok(await start());
  const { session } = await stopped;
  const { stackFrames } = await session.customRequest("stackTrace", { threadId: 1, startFrame: 0, levels: 20 });
  try {
    await look(session);
  } finally {
    const ended = once(vscode.debug.onDidTerminateDebugSession);
    await vscode.debug.stopDebugging(session);
    await ended;
  }
  return { configuration: session.configuration, stackFrames };
}

/** Ask until there is an answer that will do: the language server takes its time to start. */
async function eventually(what, ask, wanted = (found) => found?.length > 0) {
  for (const end = Date.now() + PATIENCE; Date.now() < end;) {
    const found = await ask();
    if (wanted(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${what}: nothing but ${JSON.stringify(await ask())}`);
}

const lineOf = (document, text) => document.getText().split("\n").findIndex((line) => line.includes(text));

const launch = { type: "tdb", request: "launch", name: "test", program: folder.uri.fsPath };

const measured = [];

const tests = {
  async "wakes with the folder of a model and no other, in no time"() {
    const extension = vscode.extensions.getExtension("bmodel.tdb-dap");
    const { activationEvents } = extension.packageJSON;
    assert.deepEqual(activationEvents.filter((event) => /^\*$|^onStartup|^workspaceContains/.test(event)), ["workspaceContains:final.mlir"]);
    const begun = performance.now();
    await extension.activate();
    measured.push(`activated in ${(performance.now() - begun).toFixed(0)} ms`);
  },

  async "knows its files by their names"() {
    const languageOf = async (name) => (await vscode.workspace.openTextDocument(at(name))).languageId;
    assert.equal(await languageOf("final.mlir"), "mlir");
    writeFileSync(at("toy.tdbasm"), "");
    assert.equal(await languageOf("toy.tdbasm"), "tdb-asm");
  },

  async "asks the language server about final.mlir, without a session"() {
    const { uri } = await vscode.workspace.openTextDocument(at("final.mlir"));
    const ask = (command, ...more) => eventually(command, () => vscode.commands.executeCommand(command, uri, ...more));
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

  async "shows a race of the model as a problem, with nothing run, and once when a session finds it, too"() {
    cpSync(join(__dirname, "../../data/findings/act_misc_bm1684_f32"), at("race"), { recursive: true });
    const { uri } = await vscode.workspace.openTextDocument(at("race/final.mlir"));
    const problems = () => vscode.languages.getDiagnostics(uri).filter(({ code }) => code === "hazard");
    const found = await eventually("problems", problems);
    assert.match(found[0].message, /nothing orders them/);
    await visit(() => vscode.debug.startDebugging(folder,
      { ...launch, program: at("race"), sanitizers: ["hazard"], stopOnEntry: true }), async (session) => {
      await eventually("findings", async () => (await session.customRequest("tdb/findings")).findings);
      await new Promise((resolve) => setTimeout(resolve, 1000)); // the session's findings are shown 0.2 s after the stop
    });
    assert.deepEqual(problems().map(({ message }) => message).sort(), found.map(({ message }) => message).sort());
  },

  async "puts the verdicts of a session above the ops, and leads from the disassembly to them"() {
    const mlir = await vscode.workspace.openTextDocument(at("final.mlir"));
    const breakpoint = new vscode.SourceBreakpoint(new vscode.Location(mlir.uri, new vscode.Position(lineOf(mlir, '"tpu.Pool2D"'), 0)));
    vscode.debug.addBreakpoints([breakpoint]);
    const compared = { ...launch, stopOnEntry: false, inputs: "input.npz", reference: "ref.npz" };
    const look = async (session) => {
      await session.customRequest("tdb/results");
      const lenses = () => vscode.commands.executeCommand("vscode.executeCodeLensProvider", mlir.uri);
      const convolution = lineOf(mlir, '"tpu.Conv2D"');
      const above = (found) => found.find(({ range }) => range.start.line === convolution)?.command.title ?? "";
      assert.match(above(await eventually("verdicts", lenses, (found) => above(found).startsWith("✓"))), /as expected · 2 commands/);

      const place = new vscode.Position(convolution + 1, mlir.lineAt(convolution + 1).text.indexOf("(%16") + 2);
      const hovers = await vscode.commands.executeCommand("vscode.executeHoverProvider", mlir.uri, place);
      const said = hovers.flatMap(({ contents }) => contents.map(({ value }) => value)).join("\n");
      assert.match(said, /\*\*tpu.Conv2D\*\* `relu4_Relu`/, "what it is");
      assert.match(said, /min 0 max 3\.936/, "what it holds");
      const [, link] = /\(command:(tdb\.viewTensor\?[^ ]*) /.exec(said);
      await vscode.commands.executeCommand("tdb.viewTensor", ...JSON.parse(decodeURIComponent(link.split("?")[1])));
      const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
      await eventually("the tensor view", tabs, (labels) => labels.some((label) => label.includes("relu4_Relu")));

      const { sources } = await session.customRequest("loadedSources", {});
      const { name, sourceReference } = sources.find((source) => source.name.endsWith(".tdbasm"));
      const asm = await vscode.workspace.openTextDocument(vscode.debug.asDebugSourceUri({ path: name, sourceReference }, session));
      const pooling = lineOf(asm, "pord.maxpooling");
      const definition = async (text) => {
        const place = new vscode.Position(pooling, asm.lineAt(pooling).text.indexOf(text) + 1);
        const ask = () => vscode.commands.executeCommand("vscode.executeDefinitionProvider", asm.uri, place);
        const [found] = await eventually("the definition", ask);
        return found.range?.start.line ?? found.targetRange.start.line;
      };
      assert.equal(await definition("pord.maxpooling"), lineOf(mlir, '"tpu.Pool2D"'));
      assert.equal(await definition("%R1 "), pooling - 1, "who wrote what is pooled");
    };
    await visit(() => vscode.debug.startDebugging(folder, compared), look).finally(() => vscode.debug.removeBreakpoints([breakpoint]));
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
    writeFileSync(at("progress.json"), JSON.stringify(results, null, 1));
  }
  results[0].name += `, ${measured.join(", ")}`;
  writeFileSync(at("results.json"), JSON.stringify(results));
};
