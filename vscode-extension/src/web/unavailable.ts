/** What needs a process, a port or local files, and says so by its name. */
import * as vscode from "vscode";
import { COMMANDS, INTERNAL } from "../contributions";

/** As package.json declares commands, in the language of the editor. */
interface Declared {
  readonly contributes: { readonly commands: readonly { readonly command: string; readonly title: string }[] };
}

const { open, sample, diagnostics, setUp, reference, input, debugRecording, recordAndDebug, letAgentLook } = COMMANDS;
const UNAVAILABLE = [
  open,
  sample,
  diagnostics,
  setUp,
  reference,
  input,
  debugRecording,
  recordAndDebug,
  letAgentLook,
] as const;

export function registerUnavailable(extension: vscode.Extension<unknown>): vscode.Disposable[] {
  const { commands } = (extension.packageJSON as Declared).contributes;
  const titleOf = (id: string) => commands.find(({ command }) => command === id)?.title ?? id;
  const refused = (id: string, title: string) => vscode.commands.registerCommand(id, () => refusal(title));
  return [
    ...UNAVAILABLE.map((id) => refused(id, titleOf(id))),
    refused(INTERNAL.ask, titleOf(COMMANDS.answer)),
    refused(INTERNAL.floatModel, titleOf(COMMANDS.answer)),
  ];
}

/** Say that something cannot be done here. False: it was not done. */
export async function refusal(title: string): Promise<false> {
  const text = vscode.l10n.t(
    "TDB: {0} needs a process, a port or local files, which a browser does not have. Use a VS Code with tdb-dap.",
    title,
  );
  await vscode.window.showErrorMessage(text);
  return false;
}
