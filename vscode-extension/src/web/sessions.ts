/** Debug sessions in workers, and the configurations that they start with. */
import * as vscode from "vscode";
import type { Death } from "../adapter/process";
import { provideDebugConfigurations, resolveDebugConfiguration } from "../configuration/defaults";
import { withMemoryIcon } from "../configuration/memoryIcon";
import { DEBUG_TYPE } from "../contributions";
import { showWithLog } from "../log";
import { BackgroundProgram } from "../programs/background";
import { ProgramPool, watchFiles } from "../programs/pool";
import { isUri } from "../programs/uri";
import { WorkerAdapter } from "./adapter";
import { refusal } from "./unavailable";

export function registerSessions(extension: vscode.Uri): vscode.Disposable[] {
  const { Dynamic } = vscode.DebugConfigurationProviderTriggerKind;
  return [
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, {
      createDebugAdapterDescriptor: ({ configuration }) =>
        new vscode.DebugAdapterInlineImplementation(
          new WorkerAdapter(extension, String(configuration.program), (death) => void report(death)),
        ),
    }),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, {
      resolveDebugConfiguration,
      resolveDebugConfigurationWithSubstitutedVariables: resolved,
    }),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, { provideDebugConfigurations }, Dynamic),
  ];
}

/** Models that are not being debugged, each in a worker. */
export function workerPool(extension: vscode.Uri): ProgramPool {
  return new ProgramPool(
    (model, onEnd) =>
      BackgroundProgram.load((onDeath) => new WorkerAdapter(extension, model.program, onDeath), model, onEnd),
    watchFiles,
  );
}

/** The configuration with URIs in the place of paths; undefined, and a message, where it needs a process or a port. */
async function resolved(
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
): Promise<vscode.DebugConfiguration | undefined> {
  const needs = need(configuration);
  if (needs !== undefined) {
    await refusal(needs);
    return undefined;
  }
  const uri = (value: unknown): unknown =>
    typeof value === "string" && value !== "" && !isUri(value) && folder ? inside(folder.uri, value) : value;
  const changed: vscode.DebugConfiguration = { ...configuration };
  for (const key of ["program", "inputs", "reference"]) {
    const value: unknown = changed[key];
    if (value !== undefined) changed[key] = Array.isArray(value) ? value.map(uri) : uri(value);
  }
  return withMemoryIcon(changed);
}

/** What of a configuration a browser does not have, as a launch.json names it. */
function need({ request, record, backend, prompt }: vscode.DebugConfiguration): string | undefined {
  if (request === "attach") return '"request": "attach"';
  if (record !== undefined) return '"record"';
  if (backend !== undefined && backend !== "numpy") return `"backend": "${String(backend)}"`;
  return prompt === undefined ? undefined : '"prompt"';
}

/** A path as `${workspaceFolder}/model` becomes one, or relative to the folder. */
function inside(folder: vscode.Uri, path: string): string {
  const within = path === folder.path || path.startsWith(`${folder.path}/`);
  return (within ? folder.with({ path }) : vscode.Uri.joinPath(folder, path)).toString();
}

async function report({ how, wasAlive }: Death): Promise<void> {
  const text = wasAlive
    ? vscode.l10n.t("TDB: the debug adapter has ended unexpectedly ({0}). {1}", how, "")
    : vscode.l10n.t("TDB: the debug adapter did not start ({0}). {1}", how, "");
  await showWithLog(vscode.window.showErrorMessage, text.trim(), {});
}
