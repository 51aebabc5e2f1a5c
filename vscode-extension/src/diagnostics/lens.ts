/** Above the first line of final.mlir: what a sanitizer has found before anything runs, and the way there. */
import * as vscode from "vscode";
import { programOfUri } from "../configuration/models";
import { INTERNAL, LANGUAGES } from "../contributions";
import { debug } from "../programs/debugging";
import { sessionProgram } from "../programs/program";
import type { CurrentSession } from "../sessions/current";
import { travel } from "../sessions/moment";
import type { Problems } from "./problems";

export function registerFindingLens(problems: Problems, sessions: CurrentSession): { dispose(): unknown }[] {
  const provider: vscode.CodeLensProvider = {
    onDidChangeCodeLenses: problems.onDidChange,
    provideCodeLenses({ uri }) {
      const finding = problems.firstFinding(uri);
      if (finding === undefined) return [];
      const { message, line, ordinal } = finding;
      const title = ["$(bug)", vscode.l10n.t("line {0}: {1} → Travel", line, message)].join(" ");
      const command = { title, command: INTERNAL.travelTo, arguments: [uri, ordinal] };
      return [new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), command)];
    },
  };
  return [
    vscode.languages.registerCodeLensProvider({ language: LANGUAGES.mlir, scheme: "file" }, provider),
    vscode.commands.registerCommand(INTERNAL.travelTo, (uri: vscode.Uri, ordinal: number) =>
      travelTo(sessions, uri, ordinal),
    ),
  ];
}

/** To the moment before a command of the model of a file, in its session or in one that is started. */
async function travelTo(sessions: CurrentSession, uri: vscode.Uri, ordinal: number): Promise<void> {
  const program = await programOfUri(uri);
  if (program === undefined) return;
  const { current } = sessions;
  if (current !== undefined && sessionProgram(current).model?.program === program) {
    await travel(current, ordinal);
    return;
  }
  const waiting: vscode.Disposable[] = [];
  const over = () => {
    for (const one of waiting) one.dispose();
  };
  waiting.push(
    sessions.onDidStop((session) => {
      if (sessionProgram(session).model?.program !== program) return;
      over();
      void travel(session, ordinal);
    }),
    vscode.debug.onDidTerminateDebugSession((session) => {
      if (sessionProgram(session).model?.program === program) over();
    }),
  );
  if (!(await debug({ program }))) over();
}
