import * as vscode from "vscode";
import type { SessionHub } from "../sessions/hub";
import { nextFrame } from "../sessions/moment";

/** Where all views of a model open: one group beside the source, never a third. */
export const VIEWS_COLUMN = vscode.ViewColumn.Two;

/** VS Code puts words of its own before the type of a view. */
const OWN_VIEW = /(^|-)tdb\./;

/** VS Code looks every 50 ms whether a page has the keyboard. */
const FOCUS_MILLISECONDS = 200;

/**
 * Wait until a page that was clicked is the active editor: what is focused before that loses the focus to the page again.
 */
export async function becomesActive(panel: vscode.WebviewPanel): Promise<void> {
  if (panel.active) return;
  await new Promise<void>((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      listener.dispose();
      resolve();
    };
    const listener = panel.onDidChangeViewState(() => {
      if (panel.active) settle();
    });
    const timer = setTimeout(settle, FOCUS_MILLISECONDS);
  });
}

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

/** A view that has the keyboard stays in sight, and keeps the keyboard, where the session stops in another file. */
export function registerRoom(hub: SessionHub): vscode.Disposable[] {
  return [
    hub.onStopped(async () => {
      const { activeTab, viewColumn } = vscode.window.tabGroups.activeTabGroup;
      const input: unknown = activeTab?.input;
      if (!(input instanceof vscode.TabInputWebview) || !OWN_VIEW.test(input.viewType)) return;
      const isFirst = viewColumn === vscode.ViewColumn.One;
      const focus = isFirst ? "workbench.action.focusFirstEditorGroup" : "workbench.action.focusSecondEditorGroup";
      const shown = nextFrame();
      await makeRoom(viewColumn);
      if (await shown) await vscode.commands.executeCommand(focus);
    }),
  ];
}

/** Whether a text that is opened covers a page in this column, which then has no use for the keyboard. */
export function isCovered(column: vscode.ViewColumn | undefined): boolean {
  return column === vscode.ViewColumn.One;
}
