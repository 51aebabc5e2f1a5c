import { execFile } from "node:child_process";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { COMMANDS } from "../contributions";
import { subcommand, type Search } from "./find";
import type { Installation } from "./installation";
import { lastLine } from "../protocol/errors";
import { foundName, notFound, rejectedLine } from "./words";

/** The longest wait for `tdb-dap doctor`. */
const TIMEOUT_MILLISECONDS = 60_000;

const SCHEME = "tdb-diagnostics";

/** The command that shows, in a text to copy into an issue, what is used and what is wrong with it. */
export function registerDiagnosis(installation: Installation): vscode.Disposable[] {
  // A document of its own scheme cannot be changed, and is closed without a question.
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${vscode.l10n.t("TDB: Diagnostics")}.txt` });
  const changed = new vscode.EventEmitter<vscode.Uri>();
  let content = "";
  return [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: () => content,
    }),
    vscode.commands.registerCommand(COMMANDS.setUp, () => installation.setUp(scopeShown())),
    vscode.commands.registerCommand(COMMANDS.diagnostics, async () => {
      const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t("TDB: Diagnostics") };
      content = await vscode.window.withProgress(options, () => diagnosis(installation));
      changed.fire(uri);
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
    }),
  ];
}

async function diagnosis(installation: Installation): Promise<string> {
  const search = await installation.search(scopeShown());
  return [...editorLines(search, installation), "", await doctor(search)].join("\n").replaceAll(homedir(), "~");
}

/** The folder of the text that is being edited. */
function scopeShown(): vscode.Uri | undefined {
  const document = vscode.window.activeTextEditor?.document.uri;
  return document && vscode.workspace.getWorkspaceFolder(document)?.uri;
}

function* editorLines(search: Search, installation: Installation): Generator<string> {
  const { version } = installation;
  const remote = vscode.env.remoteName ?? "none";
  yield `${vscode.env.appName} ${vscode.version}, ${process.platform} ${process.arch}, remote: ${remote}`;
  yield `extension ${version}`;
  for (const place of search.rejected) yield `skipped ${rejectedLine(place, version)}`;
  if (search.found === undefined) yield `error ${notFound(search, version)}`;
  else
    yield `debugger ${foundName(search.found)}: ${[search.found.command.executable, ...search.found.command.args].join(" ")}`;
}

/** What the debugger says of itself. */
function doctor({ found }: Search): Promise<string> {
  const command = found && subcommand(found.command, "doctor");
  if (command === undefined) return Promise.resolve("");
  return new Promise((resolve) => {
    const options = { cwd: homedir(), timeout: TIMEOUT_MILLISECONDS, windowsHide: true };
    execFile(command.executable, [...command.args], options, (error, output, complaint) => {
      // It prints its findings also where it exits with 1.
      resolve(output.trim() || lastLine(complaint) || (error?.message ?? ""));
    });
  });
}
