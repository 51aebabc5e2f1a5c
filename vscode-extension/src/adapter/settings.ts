/** Changing the settings that decide which debugger is used, in the scope that has the say. */
import * as vscode from "vscode";
import { SETTINGS } from "../contributions";
import { log } from "../log";

type Name = typeof SETTINGS.command | typeof SETTINGS.interpreter;

/** The user's settings, the workspace's, a folder's. */
const SCOPES = 3;

/** The setting as it is effective, as one text; "" if it is not set. */
export function effective(name: Name, scope: vscode.Uri | undefined): string {
  const value = vscode.workspace.getConfiguration(SETTINGS.section, scope).get<string | string[]>(name, "");
  return typeof value === "string" ? value : value.join(" ");
}

/** Set it where its effective value comes from, or else for the user. */
export async function change(name: Name, scope: vscode.Uri | undefined, value: string | undefined): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SETTINGS.section, scope);
  const known = settings.inspect(name);
  const target =
    known?.workspaceFolderValue !== undefined
      ? vscode.ConfigurationTarget.WorkspaceFolder
      : known?.workspaceValue !== undefined
        ? vscode.ConfigurationTarget.Workspace
        : vscode.ConfigurationTarget.Global;
  const before = effective(name, scope);
  if (before !== "") log().info(`${SETTINGS.section}.${name} was: ${before}`);
  await settings.update(name, value, target);
}

/** Remove it wherever it would be effective. */
export async function clear(name: Name, scope: vscode.Uri | undefined): Promise<void> {
  for (let i = 0; i < SCOPES && effective(name, scope) !== ""; i++) await change(name, scope, undefined);
}
