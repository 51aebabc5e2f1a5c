import * as vscode from "vscode";

/** Where all views of a model open: one group beside the source, never a third. */
export const VIEWS_COLUMN = vscode.ViewColumn.Two;

/**
 * Keep a page in sight: the line that a session stops at opens in the active group, so another group becomes active.
 *
 * `column`: of the page; undefined where it is not known.
 */
export async function makeRoom(column: vscode.ViewColumn | undefined): Promise<void> {
  const isFirst = column === vscode.ViewColumn.One;
  const isAlone = vscode.window.tabGroups.all.length === 1;
  const focus = isFirst ? "workbench.action.focusSecondEditorGroup" : "workbench.action.focusFirstEditorGroup";
  await vscode.commands.executeCommand(isAlone ? "workbench.action.newGroupLeft" : focus);
}

/** Whether a text that is opened covers a page in this column, which then has no use for the keyboard. */
export function isCovered(column: vscode.ViewColumn | undefined): boolean {
  return column === vscode.ViewColumn.One;
}
