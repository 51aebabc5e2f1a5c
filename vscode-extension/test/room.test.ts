// First, so that the sources find it under the name vscode.
import { DebugStackFrame, editing, factories, running, selectFrame, TabInputWebview } from "./vscode";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import type * as vscode from "vscode";
import { EventEmitter } from "./editorState";
import { becomesActive, registerRoom } from "../src/panels/room";
import { SessionHub } from "../src/sessions/hub";
import { keepingFocus } from "../src/sessions/moment";

const session = { id: "a", type: "tdb", configuration: {} } as unknown as vscode.DebugSession;

describe("a view that has the keyboard", () => {
  let registered: { dispose(): unknown }[] = [];

  beforeEach(() => {
    editing.commands.length = 0;
    const hub = new SessionHub();
    registered = [hub, ...registerRoom(hub)];
  });

  afterEach(() => {
    for (const one of registered) one.dispose();
    factories.length = 0;
    running.tabs = { all: [0], activeTabGroup: { viewColumn: 1 } };
  });

  /** The commands of a stop while this is the active tab of a group, and once VS Code has shown its line. */
  async function stop(input: unknown, viewColumn: number, groups = 2): Promise<string[][]> {
    running.tabs = { all: Array(groups).fill(0), activeTabGroup: { viewColumn, activeTab: { input } } };
    const tracker = (await factories[0]?.createDebugAdapterTracker(session)) ?? undefined;
    tracker?.onDidSendMessage?.({ type: "event", event: "stopped" });
    await setImmediate();
    const before = editing.commands.splice(0);
    selectFrame(new DebugStackFrame());
    await setImmediate();
    return [before, editing.commands.splice(0)].map((names) =>
      names.map((name) => name.trim().split(".").at(-1) ?? ""),
    );
  }

  it("is not covered by the line of a stop, and keeps the keyboard", async () => {
    const view = new TabInputWebview("mainThreadWebview-tdb.answer");
    assert.deepEqual(await stop(view, 2), [["focusFirstEditorGroup"], ["focusSecondEditorGroup"]]);
    assert.deepEqual(await stop(view, 1), [["focusSecondEditorGroup"], ["focusFirstEditorGroup"]]);
    assert.deepEqual((await stop(view, 1, 1))[0], ["newGroupLeft"]);
  });

  it("is waited for, since VS Code learns late that it has been clicked", async () => {
    const changed = new EventEmitter<undefined>();
    const panel = { active: false, onDidChangeViewState: changed.event };
    let isOver = false;
    const waited = becomesActive(panel as unknown as vscode.WebviewPanel).then(() => (isOver = true));
    changed.fire(undefined);
    await setImmediate();
    assert.equal(isOver, false);
    panel.active = true;
    changed.fire(undefined);
    await waited;
    await becomesActive(panel as unknown as vscode.WebviewPanel);
  });

  it("is one of ours: other editors show the line themselves", async () => {
    assert.deepEqual(await stop(undefined, 1), [[], []]);
    assert.deepEqual(await stop(new TabInputWebview("mainThreadWebview-markdown.preview"), 2), [[], []]);
  });
});

describe("a view that leads to a stop", () => {
  it("takes the keyboard back when that stop is shown, and not the one before", async () => {
    const log: string[] = [];
    let respond: () => void = () => undefined;
    const act = () => new Promise<void>((resolve) => (respond = resolve));
    const kept = keepingFocus(() => log.push("focus"), act);
    selectFrame(new DebugStackFrame());
    respond();
    await setImmediate();
    assert.deepEqual(log, []);
    selectFrame(new DebugStackFrame());
    await kept;
    assert.deepEqual(log, ["focus"]);
  });
});
