// First, so that the view finds it under the name vscode.
import { settings } from "./vscode";
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { ComparePanel } from "../src/compare/view";
import { COMMANDS, CONTEXT, SETTINGS } from "../src/contributions";
import type { ToModelPage } from "../src/protocol/messages";
import type { CurrentSession } from "../src/sessions/current";
import type { AdapterMessage, SessionHub } from "../src/sessions/hub";
import { contexts, editing, EventEmitter, trees, uriOf } from "./editorState";
import * as fixtures from "./fixtures";

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const MLIR = "/models/toy/final.mlir";

/** A session whose adapter answers `tdb/results` with a body, or refuses it with an error. */
class Sessions {
  readonly stops = new EventEmitter<vscode.DebugSession>();
  readonly changes = new EventEmitter<vscode.DebugSession | undefined>();
  readonly messages = new EventEmitter<{ session: vscode.DebugSession; message: AdapterMessage }>();
  readonly onDidStop = this.stops.event;
  readonly onDidChange = this.changes.event;
  results: object | Error = { rows: [], first: null, path: null, withheld: "" };
  ordinal = 7;
  lines = [7];
  opened = 0;
  asked = 0;
  readonly heard: ToModelPage[] = [];
  readonly panel: ComparePanel;

  readonly current = {
    customRequest: (command: string, { line }: { line?: number } = {}) => {
      if (command === "tdb/moment")
        return Promise.resolve({
          ordinal: this.ordinal,
          commands: 58,
          lines: this.lines,
          source: { path: MLIR },
          line,
        });
      this.asked++;
      return this.results instanceof Error ? Promise.reject(this.results) : Promise.resolve(this.results);
    },
  } as unknown as vscode.DebugSession;

  constructor() {
    const hub = { onMessage: this.messages.event } as unknown as SessionHub;
    const table = {
      showAside: () => {
        this.opened++;
        return Promise.resolve();
      },
      send: (message: ToModelPage) => this.heard.push(message),
    };
    this.panel = new ComparePanel(this as unknown as CurrentSession, hub, table);
  }

  async stop(): Promise<void> {
    this.stops.fire(this.current);
    await settled();
  }

  async stopAtDifference(exceptionId = "mismatch"): Promise<void> {
    this.stops.fire(this.current);
    const message = { type: "response", command: "exceptionInfo", success: true, body: { exceptionId } };
    this.messages.fire({ session: this.current, message });
    await settled();
  }
}

/** The line above the line where the program stands. */
function lens() {
  const provided = editing.lenses?.provideCodeLenses({ uri: uriOf(MLIR) } as vscode.TextDocument, undefined as never);
  const [first] = provided as vscode.CodeLens[];
  return first && { line: first.range.start.line + 1, title: first.command?.title, command: first.command?.command };
}

describe("the list of what has been compared", () => {
  let sessions: Sessions;
  const view = () => {
    const last = trees.at(-1);
    assert.ok(last);
    return last;
  };
  const bad = fixtures.row(3, { verdict: "fail", numbers: fixtures.numbers() });
  const differing = { rows: [bad, fixtures.row(4)], first: bad, path: null, withheld: "" };

  beforeEach(() => {
    settings.clear();
    sessions = new Sessions();
  });

  it("shows the number that differ", async () => {
    sessions.results = differing;
    await sessions.stop();
    assert.equal(view().message, "1 of 2 tensors differ");
    assert.equal(view().badge?.value, 1);
    assert.equal(contexts.get(CONTEXT.missing), "");
  });

  it("accuses nothing on other inputs, and offers to choose the right ones", async () => {
    sessions.results = { rows: [], first: null, path: null, withheld: "all inputs are zero" };
    await sessions.stop();
    assert.equal(view().message, ""); // a message would hide the button
    assert.equal(view().badge, undefined);
    assert.equal(contexts.get(CONTEXT.missing), "inputs");
  });

  it("offers to choose a reference where there is none", async () => {
    sessions.results = new Error("nothing to compare with; reload reference FILE gives it");
    await sessions.stop();
    assert.equal(view().message, "");
    assert.equal(contexts.get(CONTEXT.missing), "reference");
  });

  it("says why it could not compare", async () => {
    sessions.results = new Error("the program is running");
    await sessions.stop();
    assert.equal(view().message, "the program is running");
    assert.equal(contexts.get(CONTEXT.missing), "");
  });

  it("asks for nothing while it is hidden, until the program stands at a result that differs", async () => {
    view().visible = false;
    sessions.results = differing;
    await sessions.stop();
    await sessions.stopAtDifference("hazard");
    assert.equal(sessions.asked, 0);
    await sessions.stopAtDifference();
    assert.equal(view().badge?.value, 1);
    await sessions.stop();
    assert.equal(sessions.asked, 2, "from then on at each stop");
  });

  it("lists what differs, as the table does, and all of it if asked", async () => {
    const weight = fixtures.row(2, { verdict: "unknown", reason: "weight" });
    sessions.results = { ...differing, rows: [weight, bad, fixtures.row(4)] };
    await sessions.stop();
    const lines = () => (view().treeDataProvider.getChildren() as { line: number }[]).map(({ line }) => line);
    assert.deepEqual(lines(), [3]);
    sessions.heard.length = 0;
    await sessions.panel.filter(false);
    assert.deepEqual(lines(), [2, 3, 4]);
    assert.deepEqual(sessions.heard, [{ type: "onlyFailed", isWanted: false }]);
    assert.equal(contexts.get(CONTEXT.onlyFailed), false);
    await sessions.panel.filter(true);
    sessions.results = { ...differing, rows: [weight, fixtures.row(4)], first: null };
    await sessions.stop();
    assert.deepEqual(lines(), [4], "nothing differs: what has been computed, and no weights");
  });

  it("tells long names apart, and has all of them in its hovers", async () => {
    const names = [6, 8].map((stage) => `/model.${String(stage)}/m.0/cv2/conv/Conv_output_0_Conv`);
    const rows = names.map((name, i) => fixtures.row(3 + i, { name, verdict: "fail" }));
    sessions.results = { ...differing, rows };
    await sessions.stop();
    const { treeDataProvider: tree } = view();
    const items = (tree.getChildren() as object[]).map((node) => tree.getTreeItem(node) as vscode.TreeItem);
    const labels = items.map(({ label }) => (label as string).replace("tpu.Conv2D ", ""));
    assert.equal(new Set(labels).size, 2);
    for (const label of labels) assert.ok(label.length <= 26, label);
    for (const [i, { tooltip }] of items.entries())
      assert.ok((tooltip as string).includes(names[i] ?? "?"), "the full name");
  });

  it("opens the table once something differs, and only once", async () => {
    await sessions.stop();
    assert.equal(sessions.opened, 0);
    sessions.results = differing;
    await sessions.stop();
    await sessions.stop();
    assert.equal(sessions.opened, 1);
    settings.set(`${SETTINGS.compare}.${SETTINGS.open}`, { 1: false });
    const others = new Sessions();
    others.results = differing;
    await others.stop();
    assert.equal(others.opened, 0, "a setting");
  });

  it("says above the line of the stop what differs before it, and leads there", async () => {
    sessions.results = differing;
    await sessions.stop();
    const [title, command] = ["$(error) line 3 differs first: Travel", COMMANDS.travel];
    assert.deepEqual(lens(), { line: 7, title, command });
    sessions.lines = [3];
    const shown: unknown[] = [];
    const reveal = (range: vscode.Range, type: unknown) => shown.push([range.start.line + 1, type]);
    editing.visible = [{ document: { uri: uriOf(MLIR) }, revealRange: reveal } as unknown as vscode.TextEditor];
    await sessions.stopAtDifference();
    editing.visible = [];
    assert.deepEqual(shown, [[3, 3]], "on top, with room below for what VS Code writes there");
    assert.deepEqual(lens(), {
      line: 3,
      title: "$(error) differs first, cosine 0.5000, largest difference 0.250: Compare",
      command: COMMANDS.table,
    });
    sessions.results = { ...differing, rows: [], first: null };
    await sessions.stop();
    assert.equal(lens(), undefined, "nothing has differed up to here");
    sessions.results = differing;
    await sessions.stop();
    sessions.changes.fire(undefined);
    assert.equal(lens(), undefined, "the session has ended");
  });
});
