import { readdirSync } from "node:fs";
import * as vscode from "vscode";
import { programOf, titleOf } from "./program";

/** Most models of a workspace that are looked for. */
const MODELS_LISTED = 200;

export function programOfUri(uri: vscode.Uri): string | undefined {
  return uri.scheme === "file" ? programOf(uri.fsPath, readdirSync) : undefined;
}

/** The model of the active tab; a bmodel is not text, so there may be no active text editor. */
export function programOfActiveTab(): string | undefined {
  const input: unknown = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom
    ? programOfUri(input.uri)
    : undefined;
}

export async function programsInWorkspace(folder?: vscode.WorkspaceFolder): Promise<string[]> {
  const pattern = "**/*.{bmodel,bmodel.xz}";
  const files = await vscode.workspace.findFiles(
    folder ? new vscode.RelativePattern(folder, pattern) : pattern,
    "**/{node_modules,.git}/**",
    MODELS_LISTED,
  );
  const programs = files.map(programOfUri).filter((program) => program !== undefined);
  return [...new Set(programs)].sort();
}

/** The only model of the workspace, or the one the user picks; undefined if there is none or none is picked. */
export async function chooseProgram(
  placeHolder = vscode.l10n.t("The compiled model to debug"),
  folder?: vscode.WorkspaceFolder,
): Promise<string | undefined> {
  const programs = await programsInWorkspace(folder);
  if (programs.length === 0) {
    void vscode.window.showErrorMessage(
      vscode.l10n.t(
        "TDB: no compiled model in this workspace. Open the context directory that the compiler has written (with compilation.bmodel and final.mlir), or set 'program' in launch.json.",
      ),
    );
  }
  if (programs.length <= 1) return programs[0];
  const picked = await vscode.window.showQuickPick(
    programs.map((program) => ({
      label: titleOf(program),
      description: vscode.workspace.asRelativePath(program),
      program,
    })),
    {
      title: vscode.l10n.t("Compiled Models"),
      placeHolder,
      matchOnDescription: true,
    },
  );
  return picked?.program;
}
