// First, so that the hub finds it under the name vscode.
import { factories } from "./vscode";
import assert from "node:assert/strict";
import { beforeEach, describe, it, mock } from "node:test";
import type * as vscode from "vscode";
import { Debounce, SessionHub } from "../src/sessions/hub";

const session = (id: string) => ({ id }) as vscode.DebugSession;
const event = (name: string) => ({ type: "event", event: name });

describe("the events of debug sessions", () => {
  let hub: SessionHub;
  let told: string[];
  const track = (of: vscode.DebugSession) => factories[0]?.createDebugAdapterTracker(of) as vscode.DebugAdapterTracker;

  beforeEach(() => {
    factories.length = 0;
    hub = new SessionHub();
    told = [];
    hub.onStopped(({ id }) => told.push(`${id} stopped`));
    hub.onEdited(({ id }) => told.push(`${id} edited`));
    hub.onEnded(({ id }) => told.push(`${id} ended`));
  });

  it("come from one tracker factory, which goes when the extension does", () => {
    assert.equal(factories.length, 1);
    hub.dispose();
    assert.equal(factories.length, 0);
  });

  it("say which session they are of", () => {
    const [one, other] = [track(session("a")), track(session("b"))];
    one.onDidSendMessage?.(event("stopped"));
    other.onDidSendMessage?.(event("invalidated"));
    other.onDidSendMessage?.(event("memory"));
    one.onDidSendMessage?.(event("output"));
    one.onDidSendMessage?.({ type: "response", command: "stopped", event: "stopped" });
    assert.deepEqual(told, ["a stopped", "b edited", "b edited"]);
  });

  it("end each session once, whichever sign of its end comes first", () => {
    const [asked, over, dead] = [track(session("a")), track(session("b")), track(session("c"))];
    asked.onWillStopSession?.();
    over.onDidSendMessage?.(event("terminated"));
    dead.onExit?.(1, undefined);
    for (const tracker of [asked, over, dead]) {
      tracker.onDidSendMessage?.(event("terminated"));
      tracker.onWillStopSession?.();
      tracker.onExit?.(0, undefined);
    }
    assert.deepEqual(told, ["a ended", "b ended", "c ended"]);
  });

  it("are waited for until they are quiet, each session by itself, and not beyond its end", () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const [a, b, c] = [session("a"), session("b"), session("c")];
    const quiet = new Debounce(hub, 80, ({ id }) => told.push(`${id} quiet`));
    const [, , trackerOfC] = [track(a), track(b), track(c)];
    for (const asked of [a, a, b, c]) quiet.ask(asked);
    mock.timers.tick(79);
    quiet.ask(b);
    trackerOfC.onWillStopSession?.();
    mock.timers.tick(1);
    assert.deepEqual(told, ["c ended", "a quiet"]);
    mock.timers.tick(79);
    assert.deepEqual(told, ["c ended", "a quiet", "b quiet"]);
    quiet.ask(a);
    quiet.dispose();
    mock.timers.tick(1000);
    assert.equal(told.length, 3);
    mock.timers.reset();
  });
});
