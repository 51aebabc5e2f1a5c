// First, so that the sources find it under the name vscode.
import { dialogue, pages, texts, uriOf, watchers } from "./vscode";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import type * as vscode from "vscode";
import type { BackgroundProgram } from "../src/programs/background";
import { Contents } from "../src/container/contents";
import { registerTensorViews, viewStaticTensor } from "../src/panels/tensor/command";
import { CurrentProgram } from "../src/programs/current";
import { ProgramPool, watchFiles } from "../src/programs/pool";
import { keyOf, sameModel, staticUri, type ModelReference, type Program } from "../src/programs/program";
import { registerStaticSources } from "../src/programs/sources";
import type { CurrentSession } from "../src/sessions/current";
import type { SessionHub } from "../src/sessions/hub";

const MINUTE = 60_000;
const toy: ModelReference = { program: "/project/toy" };
const second: ModelReference = { program: "/project/toy", net: "toy", stage: 1 };

let log: string[];
let ends: (() => void)[];
let answer: () => Promise<void>;
let pool: ProgramPool;
/** The watches that are in force: each reports that a file has been written, or removed. */
let watches: Set<(isThere: boolean) => void>;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  log = [];
  ends = [];
  answer = () => Promise.resolve();
  watches = new Set();
  pool = new ProgramPool(
    async (model, onEnd) => {
      log.push(`load ${keyOf(model)}`);
      ends.push(onEnd);
      const title = String(ends.length);
      await answer();
      const dispose = () => log.push(`end ${keyOf(model)}`);
      const customRequest = () => Promise.resolve({ title });
      return { id: keyOf(model), model, session: undefined, dispose, customRequest } as unknown as BackgroundProgram;
    },
    (_model, changed) => {
      watches.add(changed);
      const dispose = () => {
        watches.delete(changed);
      };
      return { dispose };
    },
  );
});

afterEach(() => {
  mock.timers.reset();
});

const compiled = (isThere = true) => {
  for (const changed of watches) changed(isThere);
};
const settled = () => new Promise((resolve) => setImmediate(resolve));
const wait = async (milliseconds: number) => {
  mock.timers.tick(milliseconds);
  await settled();
};

describe("a model that is looked at", () => {
  it("is loaded once, however many look at it, and ends after the last of them", async () => {
    const [one, other] = await Promise.all([pool.acquire(toy), pool.acquire(toy)]);
    assert.equal(one.program, other.program);
    one.release();
    one.release(); // given back twice is given back once
    await wait(MINUTE);
    assert.deepEqual(log, [`load ${keyOf(toy)}`]);
    other.release();
    await wait(MINUTE);
    assert.deepEqual(log, [`load ${keyOf(toy)}`, `end ${keyOf(toy)}`]);
  });

  it("is still there for the next click", async () => {
    const first = await pool.acquire(toy);
    first.release();
    await wait(1000);
    const next = await pool.acquire(toy);
    await wait(MINUTE);
    assert.equal(next.program, first.program);
    assert.deepEqual(log, [`load ${keyOf(toy)}`]);
  });

  it("is another in another stage", async () => {
    await Promise.all([pool.acquire(toy), pool.acquire(second)]);
    assert.deepEqual(log, [`load ${keyOf(toy)}`, `load ${keyOf(second)}`]);
    assert.ok(sameModel({ program: "/project/toy", stage: 0 }, toy));
    assert.ok(!sameModel(second, toy));
    pool.dispose();
    await settled();
    assert.deepEqual(log.slice(2).sort(), [`end ${keyOf(toy)}`, `end ${keyOf(second)}`].sort());
  });

  it("is loaded again after it could not be, and after its adapter has died", async () => {
    answer = () => Promise.reject(new Error("no such file"));
    for (let tries = 0; tries < 2; tries++) await assert.rejects(pool.acquire(toy), /no such file/);
    answer = () => Promise.resolve();
    const lease = await pool.acquire(toy);
    const ended: string[] = [];
    pool.onDidEnd(({ id }) => ended.push(id));
    ends.at(-1)?.();
    await settled();
    assert.deepEqual(ended, [keyOf(toy)]);
    await pool.acquire(toy);
    lease.release();
    await wait(MINUTE);
    assert.equal(log.filter((line) => line.startsWith("load")).length, 4);
  });
});

describe("a model that is compiled anew", () => {
  let heard: string[];
  beforeEach(() => {
    heard = [];
    pool.onDidChange(({ id }) => heard.push(id));
  });

  it("is loaded again for who asks next, and who shows it hears of it when all files are there", async () => {
    const before = await pool.acquire(toy);
    compiled(false);
    await wait(MINUTE);
    assert.deepEqual(heard, [], "it is gone: there is nothing new to show");
    for (let file = 0; file < 3; file++) {
      compiled();
      await wait(900);
    }
    assert.deepEqual(heard, []);
    await wait(100);
    assert.deepEqual(heard, [keyOf(toy)]);
    const after = await pool.acquire(toy);
    assert.notEqual(after.program, before.program);
    before.release();
    await wait(MINUTE);
    assert.deepEqual(log.slice(1), [`load ${keyOf(toy)}`, `end ${keyOf(toy)}`]);
    assert.equal(watches.size, 1, "of the one that is still looked at");
    after.release();
    await wait(MINUTE);
    assert.equal(watches.size, 0);
  });

  it("is not waited for any more when nobody looks at it", async () => {
    const lease = await pool.acquire(toy);
    compiled();
    pool.dispose();
    await wait(MINUTE);
    lease.release();
    assert.deepEqual([heard, watches.size], [[], 0]);
    assert.equal(log.at(-1), `end ${keyOf(toy)}`);
  });

  describe("while views show it", () => {
    let programs: CurrentProgram;
    let shown: (Program | undefined)[];
    beforeEach(async () => {
      const never = () => ({ dispose: () => undefined });
      const sessions = { onDidChange: never, onDidStop: never } as unknown as CurrentSession;
      programs = new CurrentProgram(sessions, pool);
      await programs.open({}, toy);
      shown = [programs.current];
      programs.onDidChange((program) => shown.push(program));
    });

    it("is shown anew", async () => {
      compiled();
      await wait(1000);
      assert.equal(shown.length, 2);
      assert.notEqual(shown[1], shown[0]);
      await wait(MINUTE);
      assert.deepEqual(log, [`load ${keyOf(toy)}`, `load ${keyOf(toy)}`, `end ${keyOf(toy)}`]);
    });

    it("stays as it was where it cannot be read, and is shown when it can", async () => {
      answer = () => Promise.reject(new Error("truncated bmodel"));
      compiled();
      await wait(1000);
      assert.equal(programs.current, shown[0]);
      assert.match(dialogue.said.at(-1)?.text ?? "", /truncated bmodel/);
      answer = () => Promise.resolve();
      compiled();
      await wait(1000);
      assert.notEqual(programs.current, shown[0]);
    });
  });
});

describe("the listing of a model that is compiled anew", () => {
  it("is read again where it is open, and that of no other model", async () => {
    const registered = registerStaticSources(pool);
    const [ours, others] = [toy, second].map((model) => staticUri(model, { name: "toy.tdbasm" }));
    texts.open = [
      { uri: uriOf("/project/toy/final.mlir") },
      ...[ours, others].flatMap((uri) => (uri ? [{ uri }] : [])),
    ];
    const read: unknown[] = [];
    texts.provider?.onDidChange?.((uri) => read.push(uri));
    await pool.acquire(toy);
    compiled();
    await wait(1000);
    assert.deepEqual(read, [ours]);
    for (const one of registered) one.dispose();
  });
});

describe("a tensor of a model that is compiled anew", () => {
  it("is shown anew, until its panel is closed", async () => {
    const never = () => ({ dispose: () => undefined });
    const context = { extensionUri: "root" } as unknown as vscode.ExtensionContext;
    const contents = new Contents(pool, {} as unknown as CurrentSession);
    const hub = { onStopped: never, onEdited: never, onEnded: never } as unknown as SessionHub;
    const registered = registerTensorViews(context, hub, contents, () => Promise.resolve());
    await viewStaticTensor(context.extensionUri, await contents.program(toy), 'weight("w")');
    const [page] = pages;
    const asked = async () => {
      page?.said.fire({ type: "ask", id: 1, request: "tdb/tensor", arguments: {} });
      await settled();
      return (page?.heard.at(-1) as { body: { title: string } }).body.title;
    };
    assert.equal(await asked(), "1");
    compiled();
    await wait(1000);
    assert.deepEqual(page?.heard.at(-1), { type: "stopped" });
    assert.equal(await asked(), "2");
    page.close();
    await wait(MINUTE);
    assert.deepEqual(log.slice(2), [`end ${keyOf(toy)}`, `end ${keyOf(toy)}`]);
    for (const one of [contents, ...registered]) one.dispose();
  });
});

describe("the files of a model", () => {
  const reported = (program: string) => {
    const found: string[] = [];
    let path = "";
    watchFiles({ program }, (isThere) => found.push(`${path} ${isThere ? "written" : "removed"}`));
    const [watcher] = watchers.splice(0);
    const report = (name: string, kind: keyof NonNullable<typeof watcher>["fire"]) => {
      path = name;
      watcher?.fire[kind](uriOf(`/project/toy/${name}`));
    };
    return { found, report, directory: watcher?.directory };
  };

  it("are those that the compiler writes into a context directory", () => {
    const { found, report, directory } = reported("/project/toy");
    assert.equal(directory, "/project/toy");
    report("compilation.bmodel", "change");
    report("final.mlir", "create");
    report("tensor_location.json.xz", "change");
    report("compilation.bmodel", "remove");
    for (const other of ["input.npz", "other.bmodel", "origin.mlir"]) report(other, "change");
    const written = ["compilation.bmodel", "final.mlir", "tensor_location.json.xz"].map((name) => `${name} written`);
    assert.deepEqual(found, [...written, "compilation.bmodel removed"]);
  });

  it("are a single file and what lies beside it", () => {
    const { found, report, directory } = reported("/project/toy/net.bmodel.xz");
    assert.equal(directory, "/project/toy");
    for (const name of ["net.bmodel.xz", "other.bmodel.xz", "final.mlir"]) report(name, "change");
    assert.deepEqual(found, ["net.bmodel.xz written", "final.mlir written"]);
  });
});
