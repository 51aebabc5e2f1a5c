import * as vscode from "vscode";
import { SCHEME } from "../programs/program";
import { pathOf } from "../programs/uri";
import { isBmodel, isRecording, programOf, titleOf } from "./program";

/** Files of programs: compiled models, and recorded runs. */
export const PROGRAM_FILES = "**/*.{bmodel,bmodel.xz,cvimodel,cvimodel.xz,tdbrec}";

/** Texts that are shown and no files. */
const SHOWN: ReadonlySet<string> = new Set(["debug", "output", "untitled", SCHEME]);

/** Most models of a workspace that are looked for. */
const MODELS_LISTED = 200;

/** Folders below a virtual workspace's that are looked into: each costs a request. */
const DEEPEST = 3;

/** The program that a file belongs to: a path, or in a virtual workspace the text of a URI. */
export async function programOfUri(uri: vscode.Uri): Promise<string | undefined> {
  if (SHOWN.has(uri.scheme)) return undefined;
  const names = (await vscode.workspace.fs.readDirectory(vscode.Uri.joinPath(uri, ".."))).map(([name]) => name);
  return programOf(pathOf(uri), () => names);
}

/** The model of the active tab; a bmodel is not text, so there may be no active text editor. */
export async function programOfActiveTab(): Promise<string | undefined> {
  const input: unknown = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom
    ? programOfUri(input.uri)
    : undefined;
}

export async function programsInWorkspace(folder?: vscode.WorkspaceFolder): Promise<string[]> {
  const folders = folder ? [folder] : (vscode.workspace.workspaceFolders ?? []);
  const isVirtual = folders.some(({ uri }) => uri.scheme !== "file" && uri.scheme !== "vscode-remote");
  const files = isVirtual
    ? (await Promise.all(folders.map(({ uri }) => filesBelow(uri)))).flat()
    : await vscode.workspace.findFiles(
        folder ? new vscode.RelativePattern(folder, PROGRAM_FILES) : PROGRAM_FILES,
        "**/{node_modules,.git}/**",
        MODELS_LISTED,
      );
  const programs = (await Promise.all(files.map(programOfUri))).filter((program) => program !== undefined);
  return [...new Set(programs)].sort();
}

/** Files of programs in a folder of a virtual workspace, where a search may find no provider and never end. */
async function filesBelow(folder: vscode.Uri, depth = 0): Promise<vscode.Uri[]> {
  const entries = await vscode.workspace.fs.readDirectory(folder);
  const below = await Promise.all(
    entries.map(([name, type]) => {
      const uri = vscode.Uri.joinPath(folder, name);
      const isFolder = (type & vscode.FileType.Directory) !== 0 && !/^(node_modules|\.git)$/.test(name);
      if (isFolder) return depth < DEEPEST ? filesBelow(uri, depth + 1) : Promise.resolve([]);
      return Promise.resolve(isBmodel(name) || isRecording(name) ? [uri] : []);
    }),
  );
  return below.flat().slice(0, MODELS_LISTED);
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
