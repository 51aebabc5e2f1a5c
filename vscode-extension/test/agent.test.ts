// First, so that the sources find it under the name vscode.
import { agents, dialogue, editing, folders, terminate, uriOf } from "./vscode";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import type { AdapterCommand } from "../src/adapter/find";
import type { Installation } from "../src/adapter/installation";
import { registerAgent } from "../src/agent/provider";
import { configurationOf, serverOfFolders, serverOfSession } from "../src/agent/servers";
import { COMMANDS } from "../src/contributions";

const adapter: AdapterCommand = { executable: "python", args: ["-m", "tdb_dap", "adapter"], fixed: false };
const invitation = { address: "127.0.0.1:4711", token: "sesame" };

const session = (type: string) =>
  ({
    type,
    name: "toy",
    customRequest: (name: string) =>
      name === "tdb/inviteAgent" ? Promise.resolve(invitation) : Promise.reject(new Error(name)),
  }) as unknown as vscode.DebugSession;

describe("a server for agents", () => {
  it("opens models below the open folders, if there are any", () => {
    assert.deepEqual(serverOfFolders(adapter, ["/w", "/v"])?.args.slice(-3), ["--root", "/w", "/v"]);
    assert.equal(serverOfFolders(adapter, []), undefined);
  });

  it("shows the token of a session in no list of processes", () => {
    const server = serverOfSession(adapter, "toy", invitation);
    assert.deepEqual(server?.args.slice(-2), ["--join", "127.0.0.1:4711"]);
    assert.ok(server.args.includes("mcp"));
    assert.ok(!server.args.join(" ").includes("sesame"));
    assert.deepEqual(server.env, { TDB_DAP_AGENT_TOKEN: "sesame" });
  });
});

describe("let an agent look", () => {
  let found: AdapterCommand | undefined;
  let registered: { dispose(): unknown }[] = [];
  const installation = {
    version: "0.1.0",
    onDidChange: () => ({ dispose: () => undefined }),
    search: () => Promise.resolve({ found: found && { command: found }, rejected: [] }),
  } as unknown as Installation;
  const labels = async () =>
    ((await agents.providers.at(-1)?.provider.provideMcpServerDefinitions()) as { label: string }[]).map(
      ({ label }) => label,
    );

  beforeEach(() => {
    found = adapter;
    folders.push({ uri: uriOf("/w") });
    dialogue.said.length = dialogue.answers.length = agents.copied.length = 0;
    registered = registerAgent(installation);
  });

  afterEach(() => {
    for (const one of registered) one.dispose();
    folders.length = 0;
    editing.session = undefined;
  });

  it("offers the session as a server until it is over", async () => {
    const toy = session("tdb");
    editing.session = toy;
    assert.deepEqual(await labels(), ["TDB: compiled models"]);
    await agents.commands.get(COMMANDS.letAgentLook)?.();
    assert.deepEqual(await labels(), ["TDB: compiled models", "TDB: toy"]);
    assert.match(dialogue.said.at(-1)?.text ?? "", /'TDB: toy'/);
    terminate(toy);
    assert.deepEqual(await labels(), ["TDB: compiled models"]);
  });

  it("gives other hosts their configuration when it is asked for", async () => {
    editing.session = session("tdb");
    dialogue.answers.push("Copy Configuration");
    await agents.commands.get(COMMANDS.letAgentLook)?.();
    const server = serverOfSession(adapter, "toy", invitation);
    assert.deepEqual(agents.copied, [server && configurationOf(server)]);
  });

  it("says what is missing without a session of ours, or a debugger", async () => {
    editing.session = session("cppdbg");
    await agents.commands.get(COMMANDS.letAgentLook)?.();
    assert.match(dialogue.said.at(-1)?.text ?? "", /debug a model first/);
    editing.session = session("tdb");
    found = undefined;
    await agents.commands.get(COMMANDS.letAgentLook)?.();
    assert.match(dialogue.said.at(-1)?.text ?? "", /no server for agents/);
    assert.deepEqual(await labels(), []);
  });
});
