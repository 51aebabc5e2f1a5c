import * as vscode from "vscode";
import type { Installation } from "../adapter/installation";
import { DEBUG_TYPE } from "../contributions";
import { launchConfiguration } from "./launch";
import { chooseProgram, programOfActiveTab, programsInWorkspace } from "./models";
import { withAbsolutePaths } from "./paths";
import { isRecording } from "./program";
import { record, type RecordedProgram } from "../recording/task";

type Recording = vscode.DebugConfiguration & { readonly program: string; readonly record?: RecordedProgram };

export function registerConfigurations(installation: Installation): vscode.Disposable[] {
  const { Dynamic } = vscode.DebugConfigurationProviderTriggerKind;
  return [
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, {
      resolveDebugConfiguration,
      resolveDebugConfigurationWithSubstitutedVariables: (folder, configuration) =>
        resolveDebugConfigurationWithSubstitutedVariables(folder, configuration, installation),
    }),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, { provideDebugConfigurations }, Dynamic),
  ];
}

/** The models of a folder, for the list that "Run and Debug" offers. */
async function provideDebugConfigurations(
  folder: vscode.WorkspaceFolder | undefined,
): Promise<vscode.DebugConfiguration[]> {
  return (await programsInWorkspace(folder)).map(launchConfiguration);
}

/** Fills in what is missing; F5 without launch.json comes here with nothing at all. */
async function resolveDebugConfiguration(
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
): Promise<vscode.DebugConfiguration | undefined> {
  const given: Partial<vscode.DebugConfiguration> = configuration;
  if (given.request === "attach" || typeof given.program === "string") return configuration;
  const program = programOfActiveTab() ?? (await chooseProgram(undefined, folder));
  // Undefined ends the start silently: a message has been shown, or the user has closed the list.
  return program === undefined ? undefined : { ...launchConfiguration(program), ...configuration };
}

async function resolveDebugConfigurationWithSubstitutedVariables(
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
  installation: Installation,
): Promise<vscode.DebugConfiguration | undefined> {
  // Paths of an attach configuration are the other machine's.
  if (configuration.request === "attach") return configuration;
  if ((await installation.locate(folder?.uri)) === undefined) return undefined;
  // It may install another debugger.
  if (configuration.preLaunchTask !== undefined) installation.forgetLocated();
  const { record: recorded, ...rest } = withAbsolutePaths(configuration, folder?.uri.fsPath) as Recording;
  if (recorded === undefined) return rest;
  if (!isRecording(rest.program)) {
    void vscode.window.showErrorMessage(
      vscode.l10n.t(
        "TDB: 'program' names the recording that 'record' writes: a file ending in .tdbrec, not {0}.",
        rest.program,
      ),
    );
    return undefined;
  }
  return (await record(recorded, rest.program, folder, installation)) ? rest : undefined;
}
