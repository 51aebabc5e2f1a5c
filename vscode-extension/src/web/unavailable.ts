/** What needs a process, a port or the files of this machine, and says so by its name. */
import * as vscode from "vscode";
import { COMMANDS, INTERNAL } from "../contributions";

export function registerUnavailable(): vscode.Disposable[] {
  const titles: Readonly<Record<string, string>> = {
    [COMMANDS.open]: vscode.l10n.t("Open Compiled Model"),
    [COMMANDS.sample]: vscode.l10n.t("Debug the Sample"),
    [COMMANDS.diagnostics]: vscode.l10n.t("Show Diagnostics"),
    [COMMANDS.setUp]: vscode.l10n.t("Set Up Debugger"),
    [COMMANDS.reference]: vscode.l10n.t("Choose Reference"),
    [COMMANDS.input]: vscode.l10n.t("Choose Inputs"),
    [COMMANDS.debugRecording]: vscode.l10n.t("Debug Recording"),
    [COMMANDS.recordAndDebug]: vscode.l10n.t("Record and Debug"),
    [COMMANDS.letAgentLook]: vscode.l10n.t("Let an Agent Look"),
    [INTERNAL.ask]: vscode.l10n.t("Ask Language Model"),
    [INTERNAL.floatModel]: vscode.l10n.t("Choose Float Model"),
  };
  return Object.entries(titles).map(([command, title]) =>
    vscode.commands.registerCommand(command, () => refusal(title)),
  );
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
