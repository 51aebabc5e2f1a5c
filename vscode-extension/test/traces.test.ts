// First, so that the trace points find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { logPoints, Traces } from "../src/panels/traces";
import type { ToModelPage } from "../src/protocol/messages";
import type { CurrentSession } from "../src/sessions/current";
import { dialogue, EventEmitter, gutter, SourceBreakpoint } from "./editorState";

const MLIR = "/models/toy/final.mlir";
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const points = (breakpoints: readonly unknown[], ...files: string[]) =>
  logPoints(breakpoints as readonly vscode.Breakpoint[], files);

describe("trace points of the gutter", () => {
  it("are the log points of the session's files that are enabled, with their conditions", () => {
    const conditional = new SourceBreakpoint("2", MLIR, 45, "{max(in[0])}");
    conditional.condition = "max(in[0]) > 1";
    const disabled = new SourceBreakpoint("3", MLIR, 50, "off");
    disabled.enabled = false;
    const all = [
      new SourceBreakpoint("1", MLIR, 22, "is {min(in[0]):.3f}"),
      conditional,
      disabled,
      new SourceBreakpoint("4", MLIR, 60),
      new SourceBreakpoint("5", "/models/other/final.mlir", 1, "{1}"),
    ];
    assert.deepEqual(
      points(all, MLIR).map(({ key, title, arguments: point }) => [key, title, point]),
      [
        ["1", ":23 is {min(in[0]):.3f}", { message: "is {min(in[0]):.3f}", place: ":23" }],
        [
          "2",
          ":46 {max(in[0])} if max(in[0]) > 1",
          { message: "{max(in[0])}", place: ":46", condition: "max(in[0]) > 1" },
        ],
      ],
    );
  });

  it("name the file where a model has several", () => {
    const [one, other] = ["/llm/block_0/final.mlir", "/llm/block_1/final.mlir"] as const;
    const [point] = points([new SourceBreakpoint("1", other, 6, "{1}")], one, other);
    assert.equal(point?.arguments.place, "block_1/final.mlir:7");
  });
});

describe("the trace points of a session", () => {
  let opened: number;
  let heard: Extract<ToModelPage, { readonly type: "traces" }>[];
  let sessions: { current: object | undefined; onDidChange: unknown };
  let changes: EventEmitter<undefined>;
  let traces: Traces;
  const session = {
    configuration: { program: "/models/toy" },
    customRequest: () => Promise.resolve({ sources: [{ path: MLIR }, { sourceReference: 1 }] }),
  };
  const edit = async (...breakpoints: unknown[]) => {
    gutter.breakpoints = breakpoints;
    gutter.changed.fire(undefined);
    await settled();
  };
  const shown = () => heard.at(-1)?.points.map(({ title }) => title);

  beforeEach(() => {
    opened = 0;
    heard = [];
    gutter.breakpoints = [];
    changes = new EventEmitter<undefined>();
    sessions = { current: session, onDidChange: changes.event };
    traces = new Traces(sessions as unknown as CurrentSession, {
      bringAside: () => {
        opened++;
        return Promise.resolve();
      },
      send: (message) => {
        if (message.type === "traces") heard.push(message);
      },
    });
  });

  afterEach(() => {
    traces.dispose();
  });

  it("show a log point that is added or changed, and no view for a breakpoint", async () => {
    await edit(new SourceBreakpoint("1", MLIR, 22));
    assert.equal(opened, 0);
    await edit(new SourceBreakpoint("1", MLIR, 22, "{max(in[0])}"));
    assert.equal(opened, 1);
    assert.equal(heard.at(-1)?.chosen, "1");
    await edit(new SourceBreakpoint("1", MLIR, 22, "{min(in[0])}"));
    assert.equal(opened, 2);
    assert.deepEqual(shown(), [":23 {min(in[0])}"]);
  });

  it("leave the view where it is when VS Code reports the same ones, or one that is gone", async () => {
    const one = new SourceBreakpoint("1", MLIR, 22, "{1}");
    await edit(one, new SourceBreakpoint("2", MLIR, 30, "{2}"));
    await edit(one, new SourceBreakpoint("2", MLIR, 30, "{2}"));
    await edit(one);
    assert.equal(opened, 1);
    assert.deepEqual(shown(), [":23 {1}"]);
    assert.equal(heard.at(-1)?.chosen, undefined);
  });

  it("are there, but open nothing, for log points from before the session", async () => {
    sessions.current = undefined;
    await edit(new SourceBreakpoint("1", MLIR, 22, "{1}"));
    assert.deepEqual([opened, heard.length], [0, 0]);
    sessions.current = session;
    changes.fire(undefined);
    await settled();
    assert.equal(opened, 0);
    assert.deepEqual(shown(), [":23 {1}"]);
  });

  it("are recognised where VS Code has made URIs of the paths", async () => {
    const remote = { path: `vscode-remote://localhost:8080${MLIR}` };
    sessions.current = { ...session, customRequest: () => Promise.resolve({ sources: [remote] }) };
    await edit(new SourceBreakpoint("1", MLIR, 22, "{1}"));
    assert.deepEqual(shown(), [":23 {1}"]);
  });

  it("are what the user types, each once, until it is dropped", async () => {
    dialogue.answers = ["max(out[0]) at tpu.*", " max(out[0]) at tpu.* ", ""];
    for (let i = 0; i < 3; i++) await traces.ask();
    assert.deepEqual(shown(), ["max(out[0]) at tpu.*"]);
    const [point] = heard.at(-1)?.points ?? [];
    assert.ok(point);
    assert.deepEqual(point.arguments, { text: "max(out[0]) at tpu.*" });
    assert.equal(opened, 2);
    traces.drop(point.key);
    assert.deepEqual(shown(), []);
  });
});
