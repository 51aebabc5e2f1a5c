// First, so that the sources find it under the name vscode.
import { dialogue, running, uriOf } from "./vscode";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { isMeant } from "../pages/model/rows";
import type { Installation } from "../src/adapter/installation";
import type { Contents } from "../src/container/contents";
import { Links } from "../src/container/links";
import { modelNode } from "../src/container/nodes";
import type { ModelContents, ModelLaunch } from "../src/protocol/generated";
import { record } from "../src/recording/task";
import { quoted, recordingOf, wordsOf } from "../src/recording/words";

describe("a command line", () => {
  it("is divided as a shell does it", () => {
    assert.deepEqual(wordsOf(`python3 -u "my app.py" 'a "b"' c\\ d x"y z"w ""`), [
      "python3",
      "-u",
      "my app.py",
      'a "b"',
      "c d",
      "xy zw",
      "",
    ]);
    assert.deepEqual(wordsOf("  "), []);
  });

  it("gives back every word that was quoted for it", () => {
    for (const word of ["/a/b.py", "my app.py", `it's`, `say "x"`, "back\\slash", "$HOME", ""])
      assert.deepEqual(wordsOf(`python3 ${quoted(word)}`), ["python3", word]);
  });

  it("names the recording after the program, or the script that Python runs", () => {
    assert.equal(recordingOf("/usr/bin/model_runner", ["--model", "a.bmodel"]), "model_runner.tdbrec");
    assert.equal(recordingOf("python3.11", ["-u", "/w/app.py", "b.py"]), "app.tdbrec");
    assert.equal(recordingOf("python3", ["-m", "app"]), "python3.tdbrec");
  });
});

const launches: ModelLaunch[] = [
  { number: 6, net: "enc", shapes: "2×16", first: 206, entry: 206, listingLine: 231, commands: 13, token: null },
  { number: 7, net: "dec", shapes: "2×12", first: 219, entry: 220, listingLine: 246, commands: 54, token: null },
  { number: 17, net: "dec", shapes: "5×12", first: 400, entry: 400, listingLine: 500, commands: 54, token: null },
];

describe("launches", () => {
  it("are meant by number, net and shapes", () => {
    const meant = (text: string) => launches.filter((launch) => isMeant(launch, text)).map(({ number }) => number);
    assert.deepEqual(meant(""), [6, 7, 17]);
    assert.deepEqual(meant("7"), [7]);
    assert.deepEqual(meant("1"), [17]);
    assert.deepEqual(meant("DEC"), [7, 17]);
    assert.deepEqual(meant("dec 2x12"), [7]);
    assert.deepEqual(meant("dec 6"), []);
  });

  it("are a tree under their recording, and lead to their moments", async () => {
    const contents: Partial<ModelContents> = {
      launches,
      weights: [],
      recording: { arguments: [], time: "", exit: 0, remark: "", models: [] },
    };
    const ask = () => Promise.resolve(contents as ModelContents);
    const rows = (await modelNode({ program: "/runs/app.tdbrec" }, false, "", ask).children?.()) ?? [];
    const all = rows.find(({ item }) => item.contextValue === "launches");
    assert.ok(all !== undefined);
    assert.equal(all.item.description, "3");
    const [, seventh] = (await all.children?.()) ?? [];
    assert.ok(seventh !== undefined);
    assert.equal(seventh.item.label, "launch 7");
    assert.equal(seventh.item.description, "dec · 2×12 · 54 commands");
    assert.deepEqual(seventh.item.command?.arguments, [
      { program: "/runs/app.tdbrec" },
      { to: "moment", ordinal: 220, line: 246 },
    ]);
  });

  it("of a language model are below their tokens, and say where the program stands", async () => {
    const asked: ModelLaunch[] = ["embedding", "block_0", "embedding_cache", "block_cache_0"].map((net, number) => ({
      number,
      net,
      shapes: "",
      first: 10 * number,
      entry: 10 * number + 1,
      listingLine: 1,
      commands: 10,
      token: Math.floor(number / 2),
    }));
    const nets = asked.map(({ net: name }) => ({ name, stages: [] }));
    const contents: Partial<ModelContents> = { launches: asked, nets, weights: [], recording: null };
    let now = 25;
    const ask = () => Promise.resolve(contents as ModelContents);
    const rows = await modelNode({ program: "/m/qwen" }, true, "", ask, () => now).children?.();
    const [all, others] = (rows ?? []).slice(-2);
    assert.deepEqual([all?.item.label, others?.item.label], ["Launches", "Nets"]);
    assert.equal(others?.item.description, "4");
    const described = async () => {
      const tokens = (await all?.children?.()) ?? [];
      const below = await Promise.all(tokens.map(async (token) => (await token.children?.()) ?? []));
      return [tokens, ...below].map((some) => some.map(({ item }) => item.description));
    };
    assert.deepEqual(await described(), [
      ["", "here"],
      ["embedding · 10 commands", "block_0 · 10 commands"],
      ["here · embedding_cache · 10 commands", "block_cache_0 · 10 commands"],
    ]);
    now = 0;
    assert.deepEqual((await described())[0], ["here", ""]);
  });
});

describe("going to a launch", () => {
  const asked: unknown[] = [];
  const session = {
    customRequest: (name: string, rest: unknown) => Promise.resolve(asked.push([name, rest])),
  } as unknown as vscode.DebugSession;
  const model = { program: "/runs/app.tdbrec" };
  const linksOf = (all: ModelLaunch[]) =>
    new Links(uriOf("/extension"), {
      of: () => Promise.resolve({ launches: all }),
      program: () => Promise.resolve({ program: { session, model }, release: () => undefined }),
    } as unknown as Contents);

  beforeEach(() => {
    asked.length = 0;
    dialogue.said.length = 0;
  });

  it("travels there in a session of the recording", async () => {
    await linksOf(launches).follow(model, { to: "moment", ordinal: 220, line: 246 });
    assert.deepEqual(asked, [["evaluate", { expression: "goto 220", context: "repl" }]]);
  });

  it("is offered by number, net and shapes", async () => {
    dialogue.answers = ["launch 17 of dec (5×12)"];
    await linksOf(launches).chooseLaunch(model);
    assert.deepEqual(dialogue.said[0]?.buttons.slice(0, 2), ["launch 6 of enc (2×16)", "launch 7 of dec (2×12)"]);
    assert.deepEqual(asked, [["evaluate", { expression: "goto 400", context: "repl" }]]);
  });

  it("is refused for a compiled model, with the reason", async () => {
    await linksOf([]).chooseLaunch({ program: "/models/yolo" });
    assert.deepEqual(dialogue.said, [
      {
        text: "TDB: yolo has no launches: it is neither a recording nor a language model that is being asked.",
        buttons: [],
      },
    ]);
    assert.deepEqual(asked, []);
  });
});

describe("recording a program", () => {
  const directory = mkdtempSync(join(tmpdir(), "tdb-recording-"));
  const output = join(directory, "app.tdbrec");
  const folder = { uri: uriOf(directory), name: "w", index: 0 } as vscode.WorkspaceFolder;
  const installationOf = (...args: string[]) =>
    ({ locate: () => Promise.resolve({ executable: "/opt/tdb-dap", args, fixed: false }) }) as unknown as Installation;
  const recorded = { program: "python3", args: ["app.py", "two words"] };
  const make = () => record(recorded, output, folder, installationOf("adapter"));
  let written = 0;
  const writes = (code: number | undefined) => () => {
    writeFileSync(output, "x".repeat(++written));
    return code;
  };

  after(() => {
    rmSync(directory, { recursive: true });
  });
  beforeEach(() => {
    running.tasks.length = 0;
    dialogue.said.length = 0;
  });

  it("runs it in the terminal, in the folder, and waits for its end", async () => {
    running.run = writes(0);
    assert.equal(await make(), true);
    const [task] = running.tasks;
    assert.equal(task?.execution.process, "/opt/tdb-dap");
    assert.deepEqual(task.execution.args, ["record", "-o", output, "--", "python3", "app.py", "two words"]);
    assert.deepEqual(task.execution.options, { cwd: directory });
    assert.deepEqual(dialogue.said, []);
  });

  it("of one that fails goes up to there, and says so once", async () => {
    running.run = writes(3);
    assert.equal(await make(), true);
    assert.equal(dialogue.said.length, 1);
    assert.match(dialogue.said[0]?.text ?? "", /exit code 3/);
  });

  it("that nothing is recorded of does not debug an older recording", async () => {
    running.run = () => 2;
    assert.equal(await make(), false);
    assert.match(dialogue.said[0]?.text ?? "", /nothing was recorded of python3; the terminal says why/);
    assert.equal(dialogue.said.length, 1);
  });

  it("that the user has ended is followed by nothing", async () => {
    running.run = writes(undefined);
    assert.equal(await make(), false);
    assert.deepEqual(dialogue.said, []);
  });

  it("is refused where the user's own command line leads to another machine's adapter", async () => {
    assert.equal(await record(recorded, output, folder, installationOf("board", "start-adapter")), false);
    assert.match(dialogue.said[0]?.text ?? "", /nothing can be recorded/);
    assert.deepEqual(running.tasks, []);
  });
});
