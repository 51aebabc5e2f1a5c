import * as vscode from "vscode";
import { DEBUG_TYPE, LANGUAGES } from "../contributions";
import type { SessionHub } from "./hub";

const LOCK = "workbench.action.files.setActiveEditorReadonlyInSession";
const UNLOCK = "workbench.action.files.resetActiveEditorReadonlyInSession";

/**
 * While a program is stopped, keys that miss the debugger's views do not write into final.mlir: what is debugged is
 * what was compiled from it, and a changed text would not belong to it any more.
 *
 * VS Code says so to whoever types, and offers to allow it; that is asked once for each file and session.
 */
export function registerReadOnly(hub: SessionHub): vscode.Disposable[] {
  const locked = new Set<string>();
  const lock = async () => {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || vscode.debug.activeDebugSession?.type !== DEBUG_TYPE) return;
    const { document } = editor;
    const key = document.uri.toString();
    if (document.languageId !== LANGUAGES.mlir || document.uri.scheme !== "file" || document.isDirty) return;
    if (locked.has(key)) return;
    locked.add(key);
    await vscode.commands.executeCommand(LOCK);
  };
  const unlock = async () => {
    const key = vscode.window.activeTextEditor?.document.uri.toString();
    if (key === undefined || !locked.has(key) || vscode.debug.activeDebugSession?.type === DEBUG_TYPE) return;
    locked.delete(key);
    await vscode.commands.executeCommand(UNLOCK);
  };
  return [
    hub.onStopped(() => void lock()),
    vscode.debug.onDidChangeActiveStackItem(() => void lock()),
    vscode.window.onDidChangeActiveTextEditor(() => void lock().then(unlock)),
    vscode.debug.onDidChangeActiveDebugSession(() => void unlock()),
    vscode.debug.onDidTerminateDebugSession(() => void unlock()),
  ];
}
