import { execFile } from "node:child_process";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { informer } from "../adapter/find";
import { searchAdapter, whatToDo } from "../adapter/locate";
import { COMMANDS, MODEL_EDITOR } from "../contributions";
import type { FromSummaryPage, ToSummaryPage } from "../protocol/messages";
import { frame } from "./frame";

/** The longest wait for `tdb-dap info`. */
const SUMMARY_TIMEOUT_MILLISECONDS = 60_000;

/** A .bmodel in an editor: what `tdb-dap info` says of it, and a button to debug it. */
export function registerModelEditor(context: vscode.ExtensionContext): vscode.Disposable[] {
  const root = context.extensionUri;
  return [
    vscode.window.registerCustomEditorProvider(MODEL_EDITOR, {
      openCustomDocument: (uri) => ({ uri, dispose: () => undefined }),
      resolveCustomEditor({ uri }, { webview }) {
        webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(root, "dist")] };
        webview.onDidReceiveMessage(({ type }: FromSummaryPage) => {
          if (type === "debug") void vscode.commands.executeCommand(COMMANDS.debug, uri);
          else void summary(uri).then((text) => webview.postMessage({ type: "summary", text } satisfies ToSummaryPage));
        });
        webview.html = frame(webview, root, "model", "Compiled model");
      },
    } satisfies vscode.CustomReadonlyEditorProvider),
  ];
}

/** Lines of a name and what is said of it; of a file that cannot be read, what is wrong with it. */
async function summary(uri: vscode.Uri): Promise<string> {
  // A workspace can choose the interpreter: opening a file must not start a program of an untrusted one.
  if (!vscode.workspace.isTrusted) return "Trust this workspace to see what is in the model.";
  const search = await searchAdapter(vscode.workspace.getWorkspaceFolder(uri)?.uri);
  const command = search.found && informer(search.found);
  if (command === undefined) return whatToDo(search);
  return new Promise((resolve) => {
    const options = { cwd: homedir(), timeout: SUMMARY_TIMEOUT_MILLISECONDS, windowsHide: true };
    execFile(command.executable, [...command.args, uri.fsPath], options, (error, output, complaint) => {
      resolve(error === null ? output : (complaint.trim().split("\n").at(-1) ?? error.message));
    });
  });
}
