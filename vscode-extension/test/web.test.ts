// First, so that the sources find it under the name vscode.
import { dialogue, running } from "./vscode";
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import type { Death } from "../src/adapter/process";
import type { FromWorker, ToWorker } from "../src/protocol/worker";
import { WorkerAdapter } from "../src/web/adapter";
import { Mount } from "../src/web/files";
import { registerSessions } from "../src/web/sessions";
import { virtual, virtualUri } from "./virtual";

const MODEL = "memfs://disk/nets/toy";
const EXTENSION = virtualUri("memfs://disk/extension");
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

function put(...names: string[]): void {
  for (const name of names) virtual.set(name, new TextEncoder().encode(`content of ${name}`));
}

beforeEach(() => {
  virtual.clear();
  put("/nets/toy/final.mlir", "/nets/toy/compilation.bmodel", "/nets/toy/secret.key", "/nets/toy/more/input.npz");
});

describe("files of a virtual workspace", () => {
  const mount = new Mount(virtualUri(MODEL));

  it("are read below the model's folder, as far as the adapter knows them", async () => {
    assert.deepEqual(Object.keys(await mount.contents({ program: MODEL })).sort(), [
      "/workspace/nets/toy/compilation.bmodel",
      "/workspace/nets/toy/final.mlir",
    ]);
  });

  it("are also those that a launch names, with the files beside them", async () => {
    put("/data/x.npz", "/data/notes.md");
    const launch = {
      program: `${MODEL}/compilation.bmodel`,
      inputs: "memfs://disk/data/x.npz",
      reference: ["at=ours"],
    };
    assert.deepEqual(Object.keys(await mount.contents(launch)).sort(), [
      "/workspace/data/x.npz",
      "/workspace/nets/toy/compilation.bmodel",
      "/workspace/nets/toy/final.mlir",
    ]);
  });

  it("are refused, with a number, where a browser cannot hold them", async () => {
    virtual.set("/nets/toy/compilation.bmodel", { byteLength: 1500 * 2 ** 20 } as Uint8Array<ArrayBuffer>);
    await assert.rejects(mount.contents({ program: MODEL }), /the model's files are 1500 MB; a browser takes 1,024/);
  });

  it("have paths for the adapter, and URIs for the editor", () => {
    const source = { source: { path: `${MODEL}/final.mlir` }, text: `${MODEL}/final.mlir` };
    const sent = mount.toAdapter({ arguments: source });
    assert.deepEqual(JSON.parse(sent), {
      arguments: { source: { path: "/workspace/nets/toy/final.mlir" }, text: `${MODEL}/final.mlir` },
    });
    assert.deepEqual(mount.fromAdapter(sent), { arguments: source });
    const many = mount.toAdapter({ reference: [`${MODEL}/a.npz`, "name=other"] });
    assert.deepEqual(JSON.parse(many), { reference: ["/workspace/nets/toy/a.npz", "name=other"] });
  });

  it("of the adapter's own file system keep their paths", () => {
    assert.deepEqual(mount.fromAdapter('{"path": "/lib/python/site.py"}'), { path: "/lib/python/site.py" });
  });
});

describe("a configuration in a browser", () => {
  const folder = { uri: virtualUri("memfs://disk/nets"), name: "nets", index: 0 };
  const resolve = (given: object) => {
    running.configurations.length = 0;
    registerSessions(EXTENSION);
    const [provider] = running.configurations;
    const resolved = provider?.resolveDebugConfigurationWithSubstitutedVariables?.(folder, {
      type: "tdb",
      name: "x",
      request: "launch",
      ...given,
    });
    return Promise.resolve(resolved);
  };

  it("has URIs in place of paths, relative ones and those of ${workspaceFolder}", async () => {
    const resolved = await resolve({
      program: "toy",
      inputs: "/nets/toy/in.npz",
      reference: ["toy/ref.npz", "memfs://disk/r.npz"],
    });
    assert.equal(resolved?.program, MODEL);
    assert.equal(resolved.inputs, `${MODEL}/in.npz`);
    assert.deepEqual(resolved.reference, [`${MODEL}/ref.npz`, "memfs://disk/r.npz"]);
  });

  for (const [given, named] of [
    [{ request: "attach" }, '"request": "attach"'],
    [{ record: {} }, '"record"'],
    [{ backend: "cmodel" }, '"backend": "cmodel"'],
    [{ prompt: "Hello" }, '"prompt"'],
  ] as const) {
    it(`that needs a process is refused by name: ${named}`, async () => {
      dialogue.said.length = 0;
      assert.equal(await resolve({ program: "toy", ...given }), undefined);
      assert.match(dialogue.said[0]?.text ?? "", new RegExp(`^TDB: ${named} needs a process, a port or local files`));
    });
  }

  it("that names the backend of a browser is taken", async () => {
    assert.equal((await resolve({ program: "toy", backend: "numpy" }))?.program, MODEL);
  });
});

describe("an adapter in a worker", () => {
  let workers: FakeWorker[];
  let sent: Record<string, unknown>[];
  let deaths: Death[];

  class FakeWorker {
    onmessage: ((event: { data: FromWorker }) => void) | undefined;
    onerror: ((event: { message: string }) => void) | undefined;
    readonly posted: ToWorker[] = [];
    isOver = false;
    constructor() {
      workers.push(this);
    }
    postMessage(message: ToWorker): void {
      this.posted.push(message);
    }
    terminate(): void {
      this.isOver = true;
    }
    say(data: FromWorker): void {
      this.onmessage?.({ data });
    }
  }

  const requested = (seq: number, command: string, more: object = {}) =>
    ({ seq, type: "request", command, ...more }) as vscode.DebugProtocolMessage;
  const texts = ({ posted }: FakeWorker) =>
    posted.map((one) => (one.kind === "message" ? (JSON.parse(one.text) as { command: string }).command : one.kind));

  async function started(): Promise<[WorkerAdapter, FakeWorker]> {
    const adapter = new WorkerAdapter(EXTENSION, MODEL, (death) => deaths.push(death));
    adapter.onDidSendMessage((message) => sent.push(message as unknown as Record<string, unknown>));
    await settled();
    const [worker] = workers;
    assert.ok(worker);
    return [adapter, worker];
  }

  beforeEach(() => {
    [workers, sent, deaths] = [[], [], []];
    (globalThis as { Worker?: unknown }).Worker = FakeWorker;
    put("/extension/dist/web/worker.js", "/extension/dist/engine/pyodide.mjs");
    const manifest = JSON.stringify({ files: ["pyodide.mjs"], wheels: [] });
    virtual.set("/extension/dist/engine/engine.json", new TextEncoder().encode(manifest));
  });

  it("that lacks its engine says which package has one, and ends the session", async () => {
    virtual.delete("/extension/dist/engine/engine.json");
    const adapter = new WorkerAdapter(EXTENSION, MODEL, (death) => deaths.push(death));
    adapter.onDidSendMessage((message) => sent.push(message as unknown as Record<string, unknown>));
    adapter.handleMessage(requested(1, "initialize"));
    await settled();
    assert.match(deaths[0]?.how ?? "", /no engine for browsers; install tdb-dap-web\.vsix/);
    assert.equal(deaths[0]?.wasAlive, false);
    assert.equal(workers.length, 0);
    assert.deepEqual(
      sent.map(({ type, event, success }) => [type, event, success]),
      [
        ["response", undefined, false],
        ["event", "terminated", undefined],
      ],
    );
  });

  it("has the engine first, then the files before the launch, in the order of the requests", async () => {
    const [adapter, worker] = await started();
    adapter.handleMessage(requested(1, "initialize"));
    adapter.handleMessage(requested(2, "launch", { arguments: { program: MODEL } }));
    adapter.handleMessage(requested(3, "configurationDone"));
    await settled();
    assert.deepEqual(texts(worker), ["start", "initialize", "write", "launch", "configurationDone"]);
  });

  it("refuses a launch whose files are not there, ends the session, and answers what comes after", async () => {
    const [adapter, worker] = await started();
    adapter.handleMessage(requested(2, "launch", { arguments: { program: "memfs://disk/nowhere" } }));
    await settled();
    assert.deepEqual(texts(worker), ["start"]);
    assert.equal(sent[0]?.success, false);
    assert.match(String(sent[0].message), /nowhere: not there/);
    assert.equal(sent[1]?.event, "terminated");
    adapter.handleMessage(requested(3, "disconnect"));
    await settled();
    assert.deepEqual(texts(worker), ["start", "disconnect"]);
  });

  it("answers every open request when Python fails, and says so once", async () => {
    const [adapter, worker] = await started();
    adapter.handleMessage(requested(1, "initialize"));
    adapter.handleMessage(requested(2, "stackTrace"));
    await settled();
    worker.say({ kind: "message", text: '{"seq": 1, "type": "response", "request_seq": 1, "command": "initialize"}' });
    worker.say({ kind: "failed", text: "MemoryError" });
    worker.onerror?.({ message: "again" });
    adapter.handleMessage(requested(3, "disconnect"));
    assert.deepEqual(
      sent.map(({ type, command, event, success }) => [type, command ?? event, success]),
      [
        ["response", "initialize", undefined],
        ["response", "stackTrace", false],
        ["event", "terminated", undefined],
        ["response", "disconnect", true],
      ],
    );
    assert.deepEqual(deaths, [{ how: "MemoryError", lastWord: "", wasAlive: true }]);
    await settled();
    assert.ok(worker.isOver);
  });

  it("whose session is over is no failure", async () => {
    const [, worker] = await started();
    worker.say({ kind: "over" });
    await settled();
    assert.deepEqual(deaths, []);
    assert.ok(worker.isOver);
  });
});
