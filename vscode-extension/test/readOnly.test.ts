// First, so that the sources find it under the name vscode.
import { editing, factories, goTo, terminate, uriOf } from "./vscode";
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { SessionHub } from "../src/sessions/hub";
import { registerReadOnly } from "../src/sessions/readOnly";

const LOCK = "workbench.action.files.setActiveEditorReadonlyInSession";
const UNLOCK = "workbench.action.files.resetActiveEditorReadonlyInSession";

const editorOf = (path: string, isDirty = false) => ({ document: { uri: uriOf(path), isDirty } }) as vscode.TextEditor;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A session of the model in this directory; `answered`: before its adapter says where final.mlir is. */
const sessionOf = (id: string, directory: string, answered: Promise<void> = Promise.resolve()) =>
  ({
    id,
    type: "tdb",
    configuration: { program: directory },
    customRequest: async () => {
      await answered;
      return { source: { path: `${directory}/final.mlir` } };
    },
  }) as unknown as vscode.DebugSession;

/** The program of a session has come to rest, and the editor shows where. */
async function stop(session: vscode.DebugSession, editor: vscode.TextEditor): Promise<void> {
  editing.session = session;
  goTo(editor);
  const tracker = (await factories[0]?.createDebugAdapterTracker(session)) ?? undefined;
  tracker?.onDidSendMessage?.({ type: "event", event: "stopped" });
  await settled();
}

describe("while a program is stopped", () => {
  let registered: { dispose(): unknown }[] = [];

  beforeEach(() => {
    for (const one of registered) one.dispose();
    factories.length = 0;
    const hub = new SessionHub();
    registered = [hub, ...registerReadOnly(hub)];
    Object.assign(editing, { active: undefined, visible: [], session: undefined });
    editing.commands.length = 0;
  });

  it("its final.mlir is read-only, and written again afterwards", async () => {
    const [session, editor] = [sessionOf("a", "/project/toy"), editorOf("/project/toy/final.mlir")];
    await stop(session, editor);
    await stop(session, editor);
    assert.deepEqual(editing.commands, [`${LOCK} /project/toy/final.mlir`]);
    terminate(session);
    await settled();
    assert.deepEqual(editing.commands.slice(1), [`${UNLOCK} /project/toy/final.mlir`]);
  });

  it("other files are not, not even another final.mlir", async () => {
    const session = sessionOf("a", "/project/toy");
    for (const path of ["/project/notes.mlir", "/project/toy/origin.mlir", "/project/other/final.mlir"])
      await stop(session, editorOf(path));
    await stop(session, editorOf("/project/toy/final.mlir", true));
    assert.deepEqual(editing.commands, [], "of the own file only what is saved");
  });

  it("the file that the user has gone to meanwhile is not", async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await stop(sessionOf("a", "/project/toy", answered), editorOf("/project/toy/final.mlir"));
    goTo(editorOf("/project/notes.mlir"));
    answer();
    await settled();
    assert.deepEqual(editing.commands, []);
  });

  it("two sessions lock each their own, and each file until its own session is over", async () => {
    const [one, other] = [sessionOf("a", "/project/toy"), sessionOf("b", "/project/big")];
    const [toy, big] = [editorOf("/project/toy/final.mlir"), editorOf("/project/big/final.mlir")];
    await stop(one, toy);
    await stop(other, big);
    assert.deepEqual(editing.commands.splice(0), [
      `${LOCK} ${toy.document.uri.path}`,
      `${LOCK} ${big.document.uri.path}`,
    ]);
    goTo(toy);
    terminate(one);
    await settled();
    assert.deepEqual(editing.commands.splice(0), [`${UNLOCK} ${toy.document.uri.path}`]);
    editing.session = undefined; // that of another language, say
    goTo(big);
    await settled();
    assert.deepEqual(editing.commands, []);
  });
});
