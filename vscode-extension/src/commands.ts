import * as vscode from "vscode";
import { launchConfiguration } from "./configuration/launch";
import { chooseProgram, programInFront, programOfUri } from "./configuration/models";
import { COMMANDS } from "./names";

export function registerCommands(): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand(COMMANDS.debug, debugModel),
    // For "${command:PickModel}" in launch.json.
    vscode.commands.registerCommand(COMMANDS.pick, () => chooseProgram()),
  ];
}

/** Debug the model of a file, of the tab in front, or one of the workspace's. */
async function debugModel(uri?: vscode.Uri): Promise<void> {
  const program = (uri ? programOfUri(uri) : programInFront()) ?? (await chooseProgram());
  if (program === undefined) return;
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(program));
  await vscode.debug.startDebugging(folder, launchConfiguration(program));
}
