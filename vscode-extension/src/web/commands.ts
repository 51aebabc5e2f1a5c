import * as vscode from "vscode";
import { chooseProgram, programOfActiveTab, programOfUri } from "../configuration/models";
import { COMMANDS } from "../contributions";
import { debug } from "../programs/debugging";

/** The commands that a session starts with. */
export function registerStartCommands(): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand(COMMANDS.debug, debugModel),
    vscode.commands.registerCommand(COMMANDS.pick, () => chooseProgram()),
  ];
}

async function debugModel(uri?: vscode.Uri): Promise<void> {
  const program = (await (uri ? programOfUri(uri) : programOfActiveTab())) ?? (await chooseProgram());
  if (program !== undefined) await debug({ program });
}
