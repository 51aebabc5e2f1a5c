import * as vscode from "vscode";
import { sessionProgram } from "../programs/program";
import { showLine } from "../programs/sources";

/** A stop that has not been shown after this is none, or one of a program that has not moved. */
const PATIENCE_MILLISECONDS = 3000;

/** Show a line of final.mlir, counted from 1, beside the views. */
export async function openLine(session: vscode.DebugSession, line: number): Promise<void> {
  await showLine(sessionProgram(session), line, false);
}

/** To the moment before a command. `focus`: of the view that leads there, which keeps the keyboard. */
export async function travel(session: vscode.DebugSession, ordinal: number, focus?: () => unknown): Promise<void> {
  await keepingFocus(focus, () =>
    session.customRequest("evaluate", { expression: `goto ${String(ordinal)}`, context: "repl" }),
  );
}

/** Of a view of the side bar. */
export function focusOf(view: string): () => unknown {
  return () => vscode.commands.executeCommand(`${view}.focus`);
}

/** Do what leads to a stop. VS Code then gives the keyboard to the line of the stop; `focus` takes it back. */
export async function keepingFocus<T>(focus: (() => unknown) | undefined, act: () => Thenable<T>): Promise<T> {
  const done = await act();
  // The stop comes after the response; a frame that is shown before that is of the stop before.
  if (focus !== undefined && (await nextFrame())) await focus();
  return done;
}

/** Whether VS Code shows a frame in the time that a stop takes: it has done so when the frame is the active one. */
export function nextFrame(): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isShown: boolean) => {
      clearTimeout(timer);
      listener.dispose();
      resolve(isShown);
    };
    const listener = vscode.debug.onDidChangeActiveStackItem((item) => {
      if (item instanceof vscode.DebugStackFrame) settle(true);
    });
    const timer = setTimeout(() => {
      settle(false);
    }, PATIENCE_MILLISECONDS);
  });
}
