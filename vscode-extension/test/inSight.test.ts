// First, so that the sources find it under the name vscode.
import { editing, factories, scroll, selectFrame, uriOf } from "./vscode";
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { SessionHub } from "../src/sessions/hub";
import { registerInSight } from "../src/sessions/inSight";

const FILE = "/project/toy/final.mlir";
/** The line where the program stands, from 1. */
const LINE = 23;
const session = { id: "a", type: "tdb", configuration: {} } as unknown as vscode.DebugSession;

/** An editor with these lines in the window, from 1, and the lines that it was made to reveal. */
class Window {
  readonly revealed: number[] = [];
  readonly editor: vscode.TextEditor;

  constructor(first: number, last: number, path = FILE) {
    this.editor = {
      document: { uri: uriOf(path) },
      revealRange: ({ start }: vscode.Range) => this.revealed.push(start.line + 1),
    } as unknown as vscode.TextEditor;
    this.show(first, last, false);
  }

  show(first: number, last: number, isEvent = true): void {
    const [start, end] = [{ line: first - 1 }, { line: last - 1 }];
    Object.assign(this.editor, { visibleRanges: [{ start, end }] });
    if (isEvent) scroll(this.editor);
  }
}

async function stop(...windows: Window[]): Promise<void> {
  editing.visible = windows.map(({ editor }) => editor);
  const tracker = (await factories[0]?.createDebugAdapterTracker(session)) ?? undefined;
  tracker?.onDidSendMessage?.({ type: "event", event: "stopped" });
  const stackFrames = [
    { id: 1, line: LINE, source: { path: FILE } },
    { id: 2, line: 5 },
  ];
  tracker?.onDidSendMessage?.({ type: "response", command: "stackTrace", success: true, body: { stackFrames } });
  selectFrame({ session, threadId: 1, frameId: 1 });
}

describe("the line where the program stands", () => {
  let registered: { dispose(): unknown }[] = [];

  beforeEach(() => {
    for (const one of registered) one.dispose();
    factories.length = 0;
    const hub = new SessionHub();
    registered = [hub, ...registerInSight(hub)];
    selectFrame(undefined);
  });

  it("is brought back when lenses above it push it out of the window", async () => {
    const window = new Window(1, 30);
    await stop(window);
    window.show(1, 25);
    assert.deepEqual(window.revealed, [], "it is still in sight");
    window.show(1, 17);
    assert.deepEqual(window.revealed, [LINE]);
  });

  it("is brought back where VS Code has revealed it only after the stop", async () => {
    const window = new Window(60, 90);
    await stop(window);
    window.show(14, 32);
    window.show(14, 20);
    assert.deepEqual(window.revealed, [LINE]);
  });

  it("stays where the user has scrolled it to", async () => {
    const window = new Window(1, 30);
    await stop(window);
    for (const first of [4, 12, 22, 40]) window.show(first, first + 29);
    window.show(40, 60);
    assert.deepEqual(window.revealed, []);
    window.show(2, 31);
    window.show(2, 12);
    assert.deepEqual(window.revealed, [LINE], "once it is in sight again");
  });

  it("is looked for in its own file only, and no more after the session", async () => {
    const [own, other] = [new Window(1, 30), new Window(1, 30, "/project/other/final.mlir")];
    await stop(own, other);
    other.show(1, 17);
    const tracker = (await factories[0]?.createDebugAdapterTracker(session)) ?? undefined;
    tracker?.onDidSendMessage?.({ type: "event", event: "terminated" });
    own.show(1, 17);
    assert.deepEqual([own.revealed, other.revealed], [[], []]);
  });

  it("is that of the frame which is looked at", async () => {
    const window = new Window(1, 30);
    await stop(window);
    selectFrame({ session, threadId: 1, frameId: 2 });
    window.show(1, 17);
    assert.deepEqual(window.revealed, [], "this one has no file");
  });
});
