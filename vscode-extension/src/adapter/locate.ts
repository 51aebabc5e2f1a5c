import * as vscode from "vscode";
import { SETTINGS } from "../contributions";
import { findAdapter, type AdapterCommand, type Search } from "./find";
import { selectedInterpreter } from "./interpreter";
import { thisMachine } from "./machine";

export async function searchAdapter(scope: vscode.Uri | undefined): Promise<Search> {
  const settings = vscode.workspace.getConfiguration(SETTINGS.section, scope);
  return findAdapter(
    { command: settings.get<string[]>(SETTINGS.command, []), interpreter: await selectedInterpreter(scope) },
    thisMachine,
  );
}

export function whatToDo(search: Search): string {
  return (
    "TDB: the debug adapter was not found. Install it with 'pip install tdb-dap' into the environment " +
    `that is selected in the Python extension, or set tdb.adapter.command. (Tried: ${search.tried.join(", ")}.)`
  );
}

/** The adapter, or undefined after a message that says how to install one. */
export async function locateAdapter(scope: vscode.Uri | undefined): Promise<AdapterCommand | undefined> {
  const search = await searchAdapter(scope);
  if (search.found === undefined) void offerHelp(whatToDo(search));
  return search.found;
}

async function offerHelp(message: string): Promise<void> {
  const openSetting = "Open Setting";
  if ((await vscode.window.showErrorMessage(message, openSetting)) === openSetting) {
    await vscode.commands.executeCommand("workbench.action.openSettings", `${SETTINGS.section}.${SETTINGS.command}`);
  }
}
