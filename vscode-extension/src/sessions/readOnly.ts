import * as vscode from "vscode";
import { DEBUG_TYPE } from "../contributions";
import { sessionProgram } from "../programs/program";
import type { SessionHub } from "./hub";
import { request } from "./requests";

const LOCK = "workbench.action.files.setActiveEditorReadonlyInSession";
const UNLOCK = "workbench.action.files.resetActiveEditorReadonlyInSession";

/**
 * While a program is stopped, keys that miss the debugger's views do not write into its final.mlir: what is debugged is
 * what was compiled from it, and a changed text would not belong to it any more. Other files stay as they are.
 *
 * VS Code says so to whoever types, and offers to allow it; that is asked once for each file and session.
 */
export function registerReadOnly(hub: SessionHub): vscode.Disposable[] {
  const locked = new Set<string>();
  /** final.mlir of each session, as far as it is known. */
  const sources = new Map<string, string>();
  const lock = async () => {
    const session = vscode.debug.activeDebugSession;
    const document = vscode.window.activeTextEditor?.document;
    if (session?.type !== DEBUG_TYPE || document?.uri.scheme !== "file" || document.isDirty) return;
    const key = document.uri.toString();
    if (locked.has(key)) return;
    if (!sources.has(session.id)) {
      const source = await sourceOf(session);
      if (source === undefined || vscode.debug.activeDebugSession !== session) return;
      sources.set(session.id, source);
    }
    // Meanwhile the user may have gone to another file, which the command would lock, or begun to type.
    const now = vscode.window.activeTextEditor?.document;
    if (now !== document || now.isDirty || locked.has(key) || sources.get(session.id) !== key) return;
    locked.add(key);
    await vscode.commands.executeCommand(LOCK);
  };
  const unlock = async () => {
    const key = vscode.window.activeTextEditor?.document.uri.toString();
    if (key === undefined || !locked.has(key) || [...sources.values()].includes(key)) return;
    locked.delete(key);
    await vscode.commands.executeCommand(UNLOCK);
  };
  return [
    hub.onStopped(() => void lock()),
    vscode.debug.onDidChangeActiveStackItem(() => void lock()),
    vscode.window.onDidChangeActiveTextEditor(() => void lock().then(unlock)),
    vscode.debug.onDidTerminateDebugSession(({ id }) => {
      sources.delete(id);
      void unlock();
    }),
  ];
}

/** Where final.mlir of a session is; undefined where the model has none, or nothing is loaded yet. */
async function sourceOf(session: vscode.DebugSession): Promise<string | undefined> {
  try {
    const { source } = await request(session, "tdb/moment");
    return source && sessionProgram(session).uriOf(source).toString();
  } catch {
    return undefined;
  }
}
