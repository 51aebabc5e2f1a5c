/** Asking a language model: all nets of a compiled model as one program that answers a prompt. */
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import * as vscode from "vscode";
import { titleOf } from "../configuration/program";
import { DEBUG_TYPE, INTERNAL } from "../contributions";
import type { FromModelPage } from "../protocol/messages";
import type { ModelReference } from "../programs/program";
import { makeRoom } from "./room";
import type { CurrentSession } from "../sessions/current";

type Prompt = Extract<FromModelPage, { readonly type: "prompt" }>;

/** Memento key of the folder of a model before conversion. */
const keyOf = (program: string) => `tdb.floatModel.${program}`;

export function registerAsking(
  { workspaceState }: vscode.ExtensionContext,
  sessions: CurrentSession,
): vscode.Disposable[] {
  const { registerCommand } = vscode.commands;
  return [
    registerCommand(INTERNAL.ask, (model: ModelReference | undefined, prompt: Prompt, column?: vscode.ViewColumn) =>
      model === undefined ? undefined : startAnswer(model, prompt, workspaceState, sessions, column),
    ),
    registerCommand(INTERNAL.floatModel, (model: ModelReference | undefined) =>
      model === undefined ? undefined : chooseFloatModel(model, workspaceState),
    ),
  ];
}

/** The configuration of a session in which a language model answers. */
export function answerConfiguration(
  program: string,
  { prompt, tokens, chat }: Prompt,
  reference: string | undefined,
): vscode.DebugConfiguration {
  return {
    type: DEBUG_TYPE,
    request: "launch",
    name: vscode.l10n.t("TDB: {0}", titleOf(program)),
    program,
    prompt,
    tokens,
    ...(chat && { chat }),
    ...(reference !== undefined && { reference }),
    // It stands at its start for as long as the views need to find it.
    stopOnEntry: true,
    // The view names what differs; the answer is not to be interrupted by it.
    stopOnDifference: false,
  };
}

/** Start a session, in the place of one of the same model, and let it run once the views have found it. */
async function startAnswer(
  { program }: ModelReference,
  prompt: Prompt,
  state: vscode.Memento,
  sessions: CurrentSession,
  column: vscode.ViewColumn | undefined,
): Promise<void> {
  const active = vscode.debug.activeDebugSession;
  if (active?.type === DEBUG_TYPE && active.configuration.program === program) await vscode.debug.stopDebugging(active);
  const chosen = state.get<string>(keyOf(program));
  const reference = chosen !== undefined && existsSync(chosen) ? chosen : undefined;
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(program));
  const waiting: vscode.Disposable[] = [];
  const over = () => {
    for (const one of waiting) one.dispose();
  };
  waiting.push(
    sessions.onDidStop((session) => {
      if (session.configuration.prompt === undefined) return;
      over();
      // As a line of the console: the request alone leaves the editor with the stop before.
      void session.customRequest("evaluate", { expression: "c", context: "repl" });
    }),
    vscode.debug.onDidTerminateDebugSession((session) => {
      if (session !== active && session.configuration.prompt !== undefined) over();
    }),
  );
  await makeRoom(column);
  if (!(await vscode.debug.startDebugging(folder, answerConfiguration(program, prompt, reference)))) over();
}

async function chooseFloatModel({ program }: ModelReference, state: vscode.Memento): Promise<void> {
  const [folder] =
    (await vscode.window.showOpenDialog({
      title: vscode.l10n.t("Folder of the model before conversion (config.json, .safetensors)"),
      openLabel: vscode.l10n.t("Compare"),
      // Not that of the file in front, which may be a copy of a packed one.
      defaultUri: vscode.Uri.file(statSync(program).isDirectory() ? program : dirname(program)),
      canSelectFiles: false,
      canSelectFolders: true,
    })) ?? [];
  if (folder === undefined) return;
  await state.update(keyOf(program), folder.fsPath);
  const text = vscode.l10n.t("TDB: the next answer is compared with {0}.", folder.fsPath);
  void vscode.window.showInformationMessage(text);
}
