// First, so that the provider finds it under the name vscode.
import { editing, factories, uriOf } from "./vscode";
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { byLine, placeOf } from "../src/inline/places";
import { registerInlineValues } from "../src/inline/provider";
import { SessionHub } from "../src/sessions/hub";

describe("a value is written", () => {
  const line = '        %16 = "tpu.Conv2D"(%13, %1, %161) {out = "%16"}';

  it("behind the first word that is its name, and no longer word", () => {
    assert.equal(line.slice(0, placeOf("%16", line)), "        %16");
    assert.equal(line.slice(0, placeOf("%1", line)), '        %16 = "tpu.Conv2D"(%13, %1');
    assert.equal(line.slice(0, placeOf("%161", line)).slice(-5), " %161");
  });

  it("behind an address with a dot, but not behind a longer one", () => {
    const asm = "B3: %R0.4096 f32[1,16] = pord.maxpooling(input = %R0 f32[1,16])";
    assert.equal(asm.slice(0, placeOf("%R0", asm)).slice(-11), "input = %R0");
    assert.equal(asm.slice(0, placeOf("%R0.4096", asm)), "B3: %R0.4096");
  });

  it("nowhere if the line does not have the name, or the name of a part", () => {
    for (const name of ["%2", "%6", "16", "%16#1"]) assert.equal(placeOf(name, line), undefined, name);
    assert.equal(placeOf("%16", "(%16#0, %16#1)"), undefined);
  });

  it("with the others of its line", () => {
    const values = [3, 4, 3].map((line, i) => ({ line, name: `%${String(i)}`, text: "" }));
    assert.deepEqual(
      [...byLine(values)].map(([at, all]) => [at, all.map(({ name }) => name)]),
      [
        [3, ["%0", "%2"]],
        [4, ["%1"]],
      ],
    );
  });
});

describe("values within long lines", () => {
  const LONG = `%16 = "tpu.Conv2D"(%13)${" ".repeat(100)}`;
  const registered: { dispose(): unknown }[] = [];

  /** An editor of a text with one long line; `shown`: what is written into it. */
  const editorOf = (path: string) => {
    const shown: string[] = [];
    const editor = {
      document: { uri: uriOf(path), lineCount: 1, lineAt: () => ({ text: LONG, range: undefined }) },
      setDecorations: (_type: unknown, options: vscode.DecorationOptions[]) =>
        shown.splice(0, shown.length, ...options.map((one) => one.renderOptions?.after?.contentText ?? "")),
    } as unknown as vscode.TextEditor;
    return { editor, shown };
  };
  const sessionOf = (id: string, text: () => Promise<string>) =>
    ({
      id,
      type: "tdb",
      customRequest: async () => ({ values: [{ line: 1, name: "%16", text: await text() }] }),
    }) as unknown as vscode.DebugSession;
  const show = async (session: vscode.DebugSession, editor: vscode.TextEditor) => {
    editing.session = session;
    const range = { start: { line: 0 }, end: { line: 1 } } as unknown as vscode.Range;
    const context = { frameId: 1 } as vscode.InlineValueContext;
    await editing.provider?.provideInlineValues(editor.document, range, context, {} as vscode.CancellationToken);
  };
  const event = (session: vscode.DebugSession, name: string) => {
    const tracker = factories[0]?.createDebugAdapterTracker(session) as vscode.DebugAdapterTracker;
    tracker.onDidSendMessage?.({ type: "event", event: name });
  };

  beforeEach(() => {
    for (const one of registered.splice(0)) one.dispose();
    factories.length = 0;
    const hub = new SessionHub();
    registered.push(hub, ...registerInlineValues(hub));
  });

  for (const name of ["stopped", "continued", "terminated"])
    it(`are gone from every editor when the session has ${name}, and another session's are not`, async () => {
      const [one, two, three] = [editorOf("/a.mlir"), editorOf("/b.mlir"), editorOf("/c.mlir")];
      editing.visible = [one.editor, two.editor, three.editor];
      const session = sessionOf("a", () => Promise.resolve("min 0"));
      await show(session, one.editor);
      await show(session, two.editor);
      await show(
        sessionOf("b", () => Promise.resolve("min 1")),
        three.editor,
      );
      assert.deepEqual([one.shown, two.shown, three.shown], [["min 0"], ["min 0"], ["min 1"]]);
      event(session, name);
      assert.deepEqual([one.shown, two.shown, three.shown], [[], [], ["min 1"]]);
    });

  it("are not written when the program has moved on before they came", async () => {
    const one = editorOf("/a.mlir");
    editing.visible = [one.editor];
    let answer: (text: string) => void = () => undefined;
    const session = sessionOf("a", () => new Promise((resolve) => (answer = resolve)));
    const late = show(session, one.editor);
    event(session, "stopped");
    answer("min 0");
    await late;
    assert.deepEqual(one.shown, []);
  });
});
