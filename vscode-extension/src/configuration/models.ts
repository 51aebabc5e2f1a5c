import { readdirSync } from "node:fs";
import * as vscode from "vscode";
import { isRecording, programOf, titleOf } from "./program";

/** Files of programs: compiled models, and recorded runs. */
export const PROGRAM_FILES = "**/*.{bmodel,bmodel.xz,cvimodel,cvimodel.xz,tdbrec}";

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
  const files = await vscode.workspace.findFiles(
    folder ? new vscode.RelativePattern(folder, PROGRAM_FILES) : PROGRAM_FILES,
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
  return pick(programs, vscode.l10n.t("Compiled Models"), placeHolder);
}

/** The only recording of the workspace, or the one the user picks; where there is none, one from anywhere. */
export async function chooseRecording(): Promise<string | undefined> {
  const recordings = (await programsInWorkspace()).filter(isRecording);
  const title = vscode.l10n.t("Debug Recording");
  if (recordings.length > 0)
    return recordings.length === 1
      ? recordings[0]
      : pick(recordings, title, vscode.l10n.t("The recorded run to debug"));
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const [file] =
    (await vscode.window.showOpenDialog({
      title,
      openLabel: vscode.l10n.t("Start Debugging"),
      filters: { [vscode.l10n.t("Recordings")]: ["tdbrec"] },
      ...(folder && { defaultUri: folder }),
    })) ?? [];
  return file?.fsPath;
}

async function pick(programs: readonly string[], title: string, placeHolder: string): Promise<string | undefined> {
  const picked = await vscode.window.showQuickPick(
    programs.map((program) => ({
      label: titleOf(program),
      description: vscode.workspace.asRelativePath(program),
      program,
    })),
    {
      title,
      placeHolder,
      matchOnDescription: true,
    },
  );
  return picked?.program;
}
