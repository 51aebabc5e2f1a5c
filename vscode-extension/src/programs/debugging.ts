/** From looking at a model to debugging it. */
import * as vscode from "vscode";
import { launchConfiguration } from "../configuration/launch";
import { travel } from "../sessions/moment";
import type { ModelReference, Program } from "./program";
import { uriOf } from "./uri";

/** Start a session of a model, of its net and stage. Whether it has started. */
export async function debug({ program, net, stage }: ModelReference): Promise<boolean> {
  const folder = vscode.workspace.getWorkspaceFolder(uriOf(program));
  return vscode.debug.startDebugging(folder, {
    ...launchConfiguration(program),
    ...(net !== undefined && { net }),
    ...(stage !== undefined && { stage }),
  });
}

/**
 * To the moment before a command; a model that is not being debugged has no moments, but may be debugged. `focus`: of
 * the view that leads there, which keeps the keyboard.
 */
export async function travelIn(
  { session, model, name }: Program,
  ordinal: number,
  focus?: () => unknown,
): Promise<void> {
  if (session !== undefined) {
    await travel(session, ordinal, focus);
    return;
  }
  const start = vscode.l10n.t("Start Debugging");
  const text = vscode.l10n.t("TDB: {0} is not being debugged; only a session can travel to a command.", name);
  if ((await vscode.window.showInformationMessage(text, start)) === start && model !== undefined) await debug(model);
}
