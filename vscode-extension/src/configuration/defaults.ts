/** Configurations of sessions that are started without a launch.json. */
import * as vscode from "vscode";
import { launchConfiguration } from "./launch";
import { chooseProgram, programOfActiveTab, programsInWorkspace } from "./models";

/** The models of a folder, for the list that "Run and Debug" offers. */
export async function provideDebugConfigurations(
  folder: vscode.WorkspaceFolder | undefined,
): Promise<vscode.DebugConfiguration[]> {
  return (await programsInWorkspace(folder)).map(launchConfiguration);
}

/** Fills in what is missing; F5 without launch.json comes here with nothing at all. */
export async function resolveDebugConfiguration(
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
): Promise<vscode.DebugConfiguration | undefined> {
  const given: Partial<vscode.DebugConfiguration> = configuration;
  if (given.request === "attach" || typeof given.program === "string") return configuration;
  const program = (await programOfActiveTab()) ?? (await chooseProgram(undefined, folder));
  // Undefined ends the start silently: a message has been shown, or the user has closed the list.
  return program === undefined ? undefined : { ...launchConfiguration(program), ...configuration };
}
