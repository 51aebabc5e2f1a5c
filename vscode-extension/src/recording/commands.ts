/** The commands about recorded runs: debug one, or record a program and debug that. */
import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import { launchConfiguration } from "../configuration/launch";
import { chooseRecording, programOfActiveTab } from "../configuration/models";
import { isRecording } from "../configuration/program";
import { COMMANDS } from "../contributions";
import { debug } from "../programs/debugging";
import type { ModelReference } from "../programs/program";
import { quoted, recordingOf, wordsOf } from "./words";

/** The command line that was recorded last. */
const LAST = "tdb.recordedCommand";

export function registerRecordingCommands(context: vscode.ExtensionContext): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand(COMMANDS.debugRecording, debugRecording),
    vscode.commands.registerCommand(COMMANDS.recordAndDebug, (uri?: unknown) =>
      recordAndDebug(context.workspaceState, uri),
    ),
  ];
}

/** Debug the recording of a file, of a row of the tree of models, of the active tab, or one that the user chooses. */
async function debugRecording(from?: vscode.Uri | { readonly model: ModelReference }): Promise<void> {
  const shown = await programOfActiveTab();
  const given =
    from instanceof vscode.Uri
      ? from.fsPath
      : (from?.model.program ?? (shown !== undefined && isRecording(shown) ? shown : undefined));
  const program = given ?? (await chooseRecording());
  if (program !== undefined) await debug({ program });
}

/** Ask for a program and its arguments, record them, and debug the recording. */
async function recordAndDebug(state: vscode.Memento, uri: unknown): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  const active = document?.languageId === "python" && document.uri.scheme === "file" ? document.uri : undefined;
  const script = uri instanceof vscode.Uri ? uri : active;
  const text = await vscode.window.showInputBox({
    title: vscode.l10n.t("Record and Debug"),
    prompt: vscode.l10n.t("The program to record, with its arguments: anything that uses the vendor's runtime"),
    value: script === undefined ? state.get<string>(LAST, "") : `python3 ${quoted(script.fsPath)}`,
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === "" ? vscode.l10n.t("Type a program, e.g. python3 app.py") : undefined),
  });
  const [program, ...args] = wordsOf(text ?? "");
  if (text === undefined || program === undefined) return;
  await state.update(LAST, text);
  const folder = (script && vscode.workspace.getWorkspaceFolder(script)) ?? vscode.workspace.workspaceFolders?.[0];
  const output = join(folder?.uri.fsPath ?? homedir(), recordingOf(program, args));
  await vscode.debug.startDebugging(folder, { ...launchConfiguration(output), record: { program, args } });
}
