import * as vscode from "vscode";

/** The part of the Python extension's public API that is used here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
  };
}

/** The interpreter selected for a folder, by the Python extension or, without it, by its setting. */
export async function selectedInterpreter(scope: vscode.Uri | undefined): Promise<string | undefined> {
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
      console.warn("tdb: the Python extension did not report its interpreter:", error);
    }
  }
  const setting = vscode.workspace.getConfiguration("python", scope).get<string>("defaultInterpreterPath");
  if (setting === undefined || setting === "") return undefined;
  const folder = scope ? vscode.workspace.getWorkspaceFolder(scope) : vscode.workspace.workspaceFolders?.[0];
  return folder ? setting.replaceAll("${workspaceFolder}", folder.uri.fsPath) : setting;
}
