import type * as vscode from "vscode";
import { sessionProgram } from "../programs/program";
import { showLine } from "../programs/sources";

/** Show a line of final.mlir, counted from 1, beside the views. */
export async function openLine(session: vscode.DebugSession, line: number): Promise<void> {
  await showLine(sessionProgram(session), line, false);
}

/** To the moment before a command. */
export async function travel(session: vscode.DebugSession, ordinal: number): Promise<void> {
  await session.customRequest("evaluate", { expression: `goto ${String(ordinal)}`, context: "repl" });
}
