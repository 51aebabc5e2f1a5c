import { cpSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { launchConfiguration } from "../configuration/launch";
import { chooseProgram, programOfActiveTab, programOfUri } from "../configuration/models";
import { programOf } from "../configuration/program";
import { rememberModel } from "../container/models";
import { COMMANDS } from "../contributions";
import { debug } from "../programs/debugging";

/** The commands that a session starts with: a model, or the sample, is chosen, shown or debugged. */
export function registerStartCommands(context: vscode.ExtensionContext): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand(COMMANDS.debug, debugModel),
    // For "${command:PickModel}" in launch.json.
    vscode.commands.registerCommand(COMMANDS.pick, () => chooseProgram()),
    vscode.commands.registerCommand(COMMANDS.open, () => openModel(context)),
    vscode.commands.registerCommand(COMMANDS.sample, () => debugSample(context)),
  ];
}

/** Debug the model of a file, of the active tab, or one of the workspace's. */
async function debugModel(uri?: vscode.Uri): Promise<void> {
  const program = (await (uri ? programOfUri(uri) : programOfActiveTab())) ?? (await chooseProgram());
  if (program !== undefined) await debug({ program });
}

/** Choose a .bmodel anywhere, and show what belongs to it. */
async function openModel(context: vscode.ExtensionContext): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const [file] =
    (await vscode.window.showOpenDialog({
      title: vscode.l10n.t("Open Compiled Model"),
      openLabel: vscode.l10n.t("Open"),
      filters: {
        [vscode.l10n.t("Compiled models")]: ["bmodel", "cvimodel", "xz"],
        [vscode.l10n.t("All files")]: ["*"],
      },
      ...(folder && { defaultUri: folder }),
    })) ?? [];
  if (file === undefined) return;
  if (programOf(file.fsPath, readdirSync) === undefined) {
    void vscode.window.showErrorMessage(
      vscode.l10n.t(
        "TDB: {0} is not a compiled model; choose a .bmodel file, or a final.mlir in the same directory as one.",
        file.fsPath,
      ),
    );
    return;
  }
  await show(file);
  const program = await programOfUri(file);
  if (program !== undefined) await rememberModel(context.workspaceState, program);
}

/** The source of a model beside its summary; a lone bmodel has only that. */
async function show(file: vscode.Uri): Promise<void> {
  const source = join(dirname(file.fsPath), "final.mlir");
  if (existsSync(source)) await vscode.window.showTextDocument(vscode.Uri.file(source), { preview: false });
  if (file.fsPath !== source) await vscode.commands.executeCommand("vscode.open", file, vscode.ViewColumn.Beside);
}

/** Debug a copy of the sample: listings and logs may be left beside it. */
async function debugSample(context: vscode.ExtensionContext): Promise<void> {
  const directory = join(context.globalStorageUri.fsPath, "sample");
  cpSync(join(context.extensionPath, "dist", "sample"), directory, { recursive: true });
  await vscode.window.showTextDocument(vscode.Uri.file(join(directory, "final.mlir")), { preview: false });
  await vscode.debug.startDebugging(undefined, launchConfiguration(directory));
}
