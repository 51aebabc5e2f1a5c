// First, so that the sources find it under the name vscode.
import { dialogue, folders, settings, uriOf } from "./vscode";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { Installation } from "../src/adapter/installation";
import { folder, pythonScript, script, setPath, starts } from "./machine";

const VERSION = "0.2.0";
const INSTALL = "Install into a Private Environment";
const CHOOSE = "Choose Python...";

let root: string;
let bin: string;
let installation: Installation;

beforeEach(() => {
  root = folder();
  bin = join(root, "bin");
  mkdirSync(bin);
  setPath(bin);
  settings.clear();
  folders.length = 0;
  for (const list of [dialogue.said, dialogue.answers, dialogue.log]) list.length = 0;
  installation = new Installation({
    extension: { packageJSON: { version: VERSION } },
    globalStorageUri: { fsPath: join(root, "storage") },
    extensionPath: join(root, "extension"),
  } as unknown as vscode.ExtensionContext);
});

/** A folder of the workspace; with a version, one that has an environment with the debugger. */
function workspace(name: string, version?: string): vscode.Uri {
  const uri = uriOf(join(root, name));
  folders.push({ uri });
  if (version !== undefined) script(join(uri.fsPath, ".venv/bin/python"), pythonScript(version));
  return uri;
}

const environmentOf = (uri: vscode.Uri) => join(uri.fsPath, ".venv/bin");
const path = async (scope?: vscode.Uri) => (await installation.search(scope)).found?.command.executable;
const set = (name: "interpreter" | "command", value: object) => settings.set(`tdb.adapter.${name}`, value);
const valueOf = (name: "interpreter" | "command") => settings.get(`tdb.adapter.${name}`);
const MAKES_ENVIRONMENT = `case "$2" in
  venv) /bin/mkdir -p "$3/bin"; /bin/cp "$0" "$3/bin/python";;
esac`;

describe("the search", () => {
  it("of one folder says nothing about another: a repair there is none here", async () => {
    const [good, bad] = [workspace("good", VERSION), workspace("bad")];
    let changes = 0;
    installation.onDidChange(() => {
      changes++;
    });
    for (const scope of [bad, good, bad, good]) await installation.search(scope);
    assert.equal(changes, 0);
    script(join(bad.fsPath, ".venv/bin/python"), pythonScript(VERSION));
    for (const scope of [bad, good, bad]) await installation.search(scope);
    assert.equal(changes, 1);
  });

  it("starts Python once for one F5, and again for the next", async () => {
    const uri = workspace("project", VERSION);
    await installation.locate(uri);
    const { found } = await installation.searchToStart(uri);
    assert.equal(found?.command.executable, join(environmentOf(uri), "python"));
    assert.equal(starts(environmentOf(uri)).length, 1);
    await installation.searchToStart(uri);
    assert.equal(starts(environmentOf(uri)).length, 2);
  });

  it("is done again where what was located may be out of date, or is another folder's", async () => {
    const [uri, other] = [workspace("project", VERSION), workspace("other", VERSION)];
    await installation.locate(uri);
    await installation.searchToStart(other);
    assert.equal(starts(environmentOf(other)).length, 1);
    await installation.locate(uri);
    installation.forgetLocated();
    await installation.searchToStart(uri);
    assert.equal(starts(environmentOf(uri)).length, 3);
    await installation.locate(uri);
    set("command", { 1: ["ssh", "board"] });
    await installation.setUp(uri); // says that the command comes first, and is closed
    const { found } = await installation.searchToStart(uri);
    assert.equal(found?.origin, "workspace", "nothing has changed: it is closed");
  });
});

/** What the package of the extension holds. */
function bundle(): void {
  const wheels = join(root, "extension", "bundled", "wheel");
  mkdirSync(wheels, { recursive: true });
  writeFileSync(join(wheels, `tdb_dap-${VERSION}-py3-none-any.whl`), "");
}

describe("setting up", () => {
  it("installs what came with the extension or its clone, and says where there is neither", () => {
    assert.throws(() => installation.package, /does not contain the debugger/);
    writeFileSync(join(root, "pyproject.toml"), "");
    assert.equal(installation.package, root);
    bundle();
    assert.match(installation.package, /\.whl$/);
  });

  it("a private environment has an effect although an interpreter is named, in whatever scope", async () => {
    bundle();
    script(join(bin, "python3"), pythonScript(VERSION, MAKES_ENVIRONMENT));
    set("interpreter", { 1: "/gone/python", 2: "/gone/as/well" });
    assert.equal(await path(), undefined);
    dialogue.answers.push(INSTALL);
    assert.ok(await installation.setUp(undefined));
    assert.equal(await path(), join(root, "storage/environment/bin/python"));
    assert.deepEqual(valueOf("interpreter"), { 1: undefined, 2: undefined });
    for (const old of ["/gone/python", "/gone/as/well"])
      assert.ok(
        dialogue.log.some((line) => line.endsWith(old)),
        old,
      );
  });

  it("chooses a Python where the choice is effective", async () => {
    const python = script(join(bin, "python3"), pythonScript(VERSION));
    for (const scope of [1, 2, 3]) {
      set("interpreter", { 1: "/gone/python", [scope]: "/gone/python" });
      dialogue.answers.push(CHOOSE, python);
      assert.ok(await installation.setUp(undefined));
      assert.equal(await path(), python, String(scope));
    }
  });

  it("does not replace a newer debugger by an older one", async () => {
    const python = script(join(bin, "python3"), pythonScript("10.0.0"));
    dialogue.answers.push(CHOOSE, python);
    assert.ok(await installation.setUp(undefined));
    assert.ok(starts(bin).every((line) => !line.includes("pip")));
  });

  it("says that the user's command line comes first, and gives it up only when another is ready", async () => {
    const python = script(join(bin, "python3"), pythonScript(VERSION));
    set("command", { 2: ["ssh", "board", "tdb-dap"] });
    assert.ok(!(await installation.setUp(undefined)));
    assert.match(dialogue.said[0]?.text ?? "", /tdb\.adapter\.command comes before every other debugger/);
    dialogue.answers.push("Replace It...", "");
    assert.ok(!(await installation.setUp(undefined)), "closed at the second question");
    assert.deepEqual(valueOf("command"), { 2: ["ssh", "board", "tdb-dap"] });
    dialogue.answers.push("Replace It...", CHOOSE, python);
    assert.ok(await installation.setUp(undefined));
    assert.equal(await path(), python);
    assert.ok(dialogue.log.some((line) => line.endsWith("ssh board tdb-dap")));
  });

  it("leaves the settings alone where it fails", async () => {
    script(join(bin, "python3"), pythonScript(null, "exit 1"));
    set("interpreter", { 1: "/gone/python" });
    dialogue.answers.push(INSTALL);
    assert.ok(!(await installation.setUp(undefined)));
    assert.deepEqual(valueOf("interpreter"), { 1: "/gone/python" });
    assert.ok(!existsSync(join(root, "storage/environment")));
  });
});

describe("a debugger that is not found", () => {
  const question = async () => {
    await installation.locate(folders[0]?.uri);
    return dialogue.said.at(-1)?.text ?? "";
  };

  it("is not there, where there is a Python for it", async () => {
    script(join(bin, "python3"), pythonScript(null));
    script(join(bin, "python"), "exit 127");
    assert.equal(await question(), "TDB: The debugger is not installed yet.");
  });

  it("is in an environment that does not start, which is named", async () => {
    const uri = workspace("project");
    const python = script(join(environmentOf(uri), "python"), "exit 127");
    script(join(bin, "python3"), pythonScript(null, "", [3, 9, 1]));
    script(join(bin, "python"), pythonScript(null));
    assert.equal(await question(), `TDB: The debugger is not installed yet. ${python}: it does not start.`);
  });

  it("is missing as is Python, only where there is none", async () => {
    assert.match(await question(), /no Python was found/);
    const python = script(join(bin, "python3"), "exit 127");
    assert.equal(await question(), `TDB: The debugger is not installed yet. ${python}: it does not start.`);
  });
});
