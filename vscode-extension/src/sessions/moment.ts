import * as vscode from "vscode";
import { request } from "./requests";

/** Show a line of final.mlir, counted from 1, beside the views. */
export async function openLine(session: vscode.DebugSession, line: number): Promise<void> {
  const { source } = await request(session, "tdb/moment");
  if (source === undefined || line < 1) return;
  const start = new vscode.Position(line - 1, 0);
  await vscode.window.showTextDocument(vscode.debug.asDebugSourceUri(source, session), {
    viewColumn: vscode.ViewColumn.One,
    selection: new vscode.Range(start, start),
  });
}

/** To the moment before a command. */
export async function travel(session: vscode.DebugSession, ordinal: number): Promise<void> {
  await session.customRequest("evaluate", { expression: `goto ${String(ordinal)}`, context: "repl" });
}
