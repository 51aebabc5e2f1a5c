/** Who wrote a value, and the way to the moment before that. */
import * as vscode from "vscode";
import { textOf } from "../../protocol/errors";
import { travel } from "../../sessions/moment";

/** How the console's `who` names a writer; what an edit has written has no way to it. */
const WRITER = /^command (\d+)\b(?!: edited)/m;

/** `frameId`: where the expression has its meaning. */
export async function showWriter(
  session: vscode.DebugSession,
  expression: string,
  frameId: number | undefined,
): Promise<void> {
  let result: string;
  try {
    const asked = { expression: `who ${expression}`, context: "repl", frameId };
    ({ result } = (await session.customRequest("evaluate", asked)) as { result: string });
  } catch (error) {
    void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}: {1}", expression, textOf(error)));
    return;
  }
  const there = vscode.l10n.t("Travel There");
  const ordinal = WRITER.exec(result)?.[1];
  const text = vscode.l10n.t("TDB: {0}, written by: {1}", expression, result.replaceAll("\n", " · "));
  const choices = ordinal === undefined ? [] : [there];
  if ((await vscode.window.showInformationMessage(text, ...choices)) === there) await travel(session, Number(ordinal));
}
