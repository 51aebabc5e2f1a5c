// First, so that the sources find it under the name vscode.
import { factories, terminate, trees } from "./vscode";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import type * as vscode from "vscode";
import { ComparePanel } from "../src/compare/view";
import { CurrentSession } from "../src/sessions/current";
import { SessionHub } from "../src/sessions/hub";
import { row } from "./fixtures";

describe("of two sessions", () => {
  const [one, other] = ["a", "b"].map((id) => ({ id }) as vscode.DebugSession) as [
    vscode.DebugSession,
    vscode.DebugSession,
  ];
  let hub: SessionHub;
  let sessions: CurrentSession;
  let shown: (string | undefined)[];
  const stop = (session: vscode.DebugSession) => {
    const tracker = factories[0]?.createDebugAdapterTracker(session) as vscode.DebugAdapterTracker;
    tracker.onDidSendMessage?.({ type: "event", event: "stopped" });
    mock.timers.tick(100);
  };

  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout"] });
    factories.length = 0;
    hub = new SessionHub();
    sessions = new CurrentSession(hub);
    shown = [];
    sessions.onDidChange((session) => shown.push(session?.id));
  });

  afterEach(() => {
    sessions.dispose();
    hub.dispose();
    mock.timers.reset();
  });

  it("the one that has stopped last is shown, and after its end the other one", () => {
    for (const session of [one, other, one]) stop(session);
    terminate(one);
    assert.equal(sessions.current, other);
    terminate(other);
    assert.deepEqual(shown, ["a", "b", "a", "b", undefined]);
  });

  it("one that ends unseen is not shown again", () => {
    for (const session of [one, other]) stop(session);
    terminate(one);
    terminate(other);
    assert.deepEqual(shown, ["a", "b", undefined]);
  });
});

describe("the tree of compared tensors", () => {
  it("does not show what a session answers that is over", async () => {
    let answer: (body: unknown) => void = () => undefined;
    let changed: (session: undefined) => void = () => undefined;
    let stopped: () => unknown = () => undefined;
    const late = new Promise((resolve) => (answer = resolve));
    const session = {
      customRequest: (name: string) => (name === "tdb/results" ? late : Promise.resolve({ ordinal: 0, lines: [] })),
    } as unknown as vscode.DebugSession;
    const subscribe =
      <T>(listen: (listener: T) => void) =>
      (listener: T) => {
        listen(listener);
        return { dispose: () => undefined };
      };
    const sessions = {
      current: session,
      onDidChange: subscribe((listener: typeof changed) => (changed = listener)),
      onDidStop: subscribe((listener: typeof stopped) => (stopped = listener)),
    } as unknown as CurrentSession;
    const hub = { onMessage: subscribe(() => undefined) } as unknown as SessionHub;
    new ComparePanel(sessions, hub, { showAside: () => Promise.resolve(), send: () => undefined });
    const shown = () => trees.at(-1)?.treeDataProvider.getChildren() as unknown[];
    const asked = stopped();
    await new Promise((resolve) => setImmediate(resolve));
    changed(undefined);
    answer({ rows: [row(3)], first: null, withheld: "" });
    await asked;
    assert.deepEqual(shown(), []);
    await stopped();
    assert.equal(shown().length, 1);
  });
});
