import * as vscode from "vscode";
import type { Installation } from "../adapter/installation";
import { DEBUG_TYPE } from "../contributions";
import { provideDebugConfigurations, resolveDebugConfiguration } from "./defaults";
import { withMemoryIcon } from "./memoryIcon";
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

async function resolveDebugConfigurationWithSubstitutedVariables(
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
  installation: Installation,
): Promise<vscode.DebugConfiguration | undefined> {
  // Paths of an attach configuration are the other machine's.
  if (configuration.request === "attach") return withMemoryIcon(configuration);
  if ((await installation.locate(folder?.uri)) === undefined) return undefined;
  // It may install another debugger.
  if (configuration.preLaunchTask !== undefined) installation.forgetLocated();
  const { record: recorded, ...rest } = withAbsolutePaths(configuration, folder?.uri.fsPath) as Recording;
  if (recorded === undefined) return withMemoryIcon(rest);
  if (!isRecording(rest.program)) {
    void vscode.window.showErrorMessage(
      vscode.l10n.t(
        "TDB: 'program' names the recording that 'record' writes: a file ending in .tdbrec, not {0}.",
        rest.program,
      ),
    );
    return undefined;
  }
  return (await record(recorded, rest.program, folder, installation)) ? withMemoryIcon(rest) : undefined;
}
