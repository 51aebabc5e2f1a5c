/** Models that are not being debugged, each in a process of the adapter. */
import * as vscode from "vscode";
import type { Installation } from "../adapter/installation";
import { AdapterProcess } from "../adapter/process";
import { notFound } from "../adapter/words";
import { BackgroundProgram } from "./background";
import { NoDebugger, ProgramPool, watchFiles } from "./pool";

/** Load models with the debugger that a session of them would use. */
export function backgroundPool(installation: Installation): ProgramPool {
  return new ProgramPool(async (model, onEnd) => {
    // A workspace can choose the interpreter: looking must not start a program of an untrusted one.
    if (!vscode.workspace.isTrusted)
      throw new Error(vscode.l10n.t("Trust this workspace to see what is in the model."));
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(model.program))?.uri;
    const search = await installation.search(folder);
    if (search.found === undefined) throw new NoDebugger(notFound(search, installation.version));
    const { command } = search.found;
    return BackgroundProgram.load((onDeath) => new AdapterProcess(command, onDeath), model, onEnd);
  }, watchFiles);
}
