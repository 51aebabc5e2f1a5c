import { isAbsolute } from "node:path";
import * as vscode from "vscode";
import { log } from "../log";
import { textOf } from "../protocol/errors";

/** The part of the Python extension's public API that is used here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
  };
}

/** The part of the Python Environments extension's public API that is used here. */
interface EnvironmentsApi {
  getEnvironment(scope: vscode.Uri | undefined): Promise<
    | {
        readonly execInfo?: {
          readonly activatedRun?: { readonly executable: string };
          readonly run: { readonly executable: string };
        };
      }
    | undefined
  >;
}

/**
 * The interpreter selected for a folder: by the Python Environments extension, by the Python extension, or without
 * both by the setting that they share. Neither is needed, so neither is a dependency.
 */
export async function selectedInterpreter(scope: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = vscode.extensions.getExtension<EnvironmentsApi>("ms-python.vscode-python-envs");
  if (environments !== undefined) {
    try {
      const environment = await (await environments.activate()).getEnvironment(scope);
      const executable = environment?.execInfo?.run.executable;
      if (executable !== undefined && isAbsolute(executable)) return executable;
    } catch (error) {
      log().warn(`the Python Environments extension did not report its interpreter: ${textOf(error)}`);
    }
  }
  const python = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (python !== undefined) {
    try {
      const { environments } = await python.activate();
      // A conda environment's path is its folder until it is resolved.
      const environment = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(scope));
      const executable = environment?.executable.uri?.fsPath;
      if (executable !== undefined) return executable;
    } catch (error) {
      // An error of another extension must not prevent debugging: use its setting.
      log().warn(`the Python extension did not report its interpreter: ${textOf(error)}`);
    }
  }
  const setting = vscode.workspace.getConfiguration("python", scope).get<string>("defaultInterpreterPath");
  if (setting === undefined || setting === "") return undefined;
  const folder = scope ? vscode.workspace.getWorkspaceFolder(scope) : vscode.workspace.workspaceFolders?.[0];
  return folder ? setting.replaceAll("${workspaceFolder}", folder.uri.fsPath) : setting;
}
