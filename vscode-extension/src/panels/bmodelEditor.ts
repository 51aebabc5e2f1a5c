import { execFile } from "node:child_process";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { subcommand } from "../adapter/find";
import type { Installation } from "../adapter/installation";
import { lastLine } from "../protocol/errors";
import { notFound } from "../adapter/words";
import { COMMANDS, MODEL_EDITOR } from "../contributions";
import type { FromSummaryPage, ToSummaryPage } from "../protocol/messages";
import { frame } from "./frame";

/** The longest wait for `tdb-dap info`. */
const SUMMARY_TIMEOUT_MILLISECONDS = 60_000;

/** A .bmodel in an editor: what `tdb-dap info` says of it, and a button to debug it. */
export function registerModelEditor(context: vscode.ExtensionContext, installation: Installation): vscode.Disposable[] {
  const root = context.extensionUri;
  return [
    vscode.window.registerCustomEditorProvider(MODEL_EDITOR, {
      openCustomDocument: (uri) => ({ uri, dispose: () => undefined }),
      resolveCustomEditor({ uri }, { webview, onDidDispose }) {
        webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(root, "dist")] };
        webview.onDidReceiveMessage(({ type }: FromSummaryPage) => {
          if (type === "debug") void vscode.commands.executeCommand(COMMANDS.debug, uri);
          else void show();
        });
        const show = async () => {
          const text = await summary(uri, installation);
          await webview.postMessage({ type: "summary", text } satisfies ToSummaryPage);
        };
        const repaired = installation.onDidChange(() => void show());
        onDidDispose(() => {
          repaired.dispose();
        });
        webview.html = frame(webview, root, "model", vscode.l10n.t("Compiled model"));
      },
    } satisfies vscode.CustomReadonlyEditorProvider),
  ];
}

/** Lines of a name and what is said of it; of a file that cannot be read, what is wrong with it. */
async function summary(uri: vscode.Uri, installation: Installation): Promise<string> {
  // A workspace can choose the interpreter: opening a file must not start a program of an untrusted one.
  if (!vscode.workspace.isTrusted) return vscode.l10n.t("Trust this workspace to see what is in the model.");
  const search = await installation.search(vscode.workspace.getWorkspaceFolder(uri)?.uri);
  if (search.found === undefined) return notFound(search, installation.version);
  const command = subcommand(search.found.command, "info");
  if (command === undefined)
    return vscode.l10n.t("The command line in tdb.adapter.command cannot be asked about files.");
  return new Promise((resolve) => {
    const options = { cwd: homedir(), timeout: SUMMARY_TIMEOUT_MILLISECONDS, windowsHide: true };
    execFile(command.executable, [...command.args, uri.fsPath], options, (error, output, complaint) => {
      resolve(error === null ? output : lastLine(complaint) || error.message);
    });
  });
}
