// First, so that the view finds it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { registerComparePanel } from "../src/compare/view";
import { CONTEXT } from "../src/contributions";
import type { CurrentSession } from "../src/sessions/current";
import { contexts, EventEmitter, trees } from "./editorState";
import * as fixtures from "./fixtures";

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A session whose adapter answers `tdb/results` with a body, or refuses it with an error. */
class Sessions {
  readonly stops = new EventEmitter<vscode.DebugSession>();
  readonly changes = new EventEmitter<vscode.DebugSession | undefined>();
  readonly onDidStop = this.stops.event;
  readonly onDidChange = this.changes.event;
  results: object | Error = { rows: [], first: null, path: null, withheld: "" };

  readonly current = {
    customRequest: (command: string) => {
      if (command === "tdb/moment") return Promise.resolve({ ordinal: 7, commands: 58, lines: [] });
      return this.results instanceof Error ? Promise.reject(this.results) : Promise.resolve(this.results);
    },
  } as unknown as vscode.DebugSession;

  async stop(): Promise<void> {
    this.stops.fire(this.current);
    await settled();
  }
}

describe("the list of what has been compared", () => {
  let sessions: Sessions;
  const view = () => {
    const last = trees.at(-1);
    assert.ok(last);
    return last;
  };

  beforeEach(() => {
    sessions = new Sessions();
    registerComparePanel(sessions as unknown as CurrentSession);
  });

  it("shows the number that differ", async () => {
    const rows = [fixtures.row(3, { verdict: "fail" }), fixtures.row(4)];
    sessions.results = { rows, first: rows[0], path: null, withheld: "" };
    await sessions.stop();
    assert.equal(view().message, "1 of 2 tensors differ");
    assert.equal(view().badge?.value, 1);
    assert.equal(contexts.get(CONTEXT.missing), "");
  });

  it("accuses nothing on other inputs, and offers to choose the right ones", async () => {
    sessions.results = { rows: [], first: null, path: null, withheld: "all inputs are zero" };
    await sessions.stop();
    assert.equal(view().message, "Nothing is compared: all inputs are zero.");
    assert.equal(view().badge, undefined);
    assert.equal(contexts.get(CONTEXT.missing), "inputs");
  });

  it("offers to choose a reference where there is none", async () => {
    sessions.results = new Error("nothing to compare with");
    await sessions.stop();
    assert.equal(view().message, "nothing to compare with");
    assert.equal(contexts.get(CONTEXT.missing), "reference");
  });
});
