/** Attributes of final.mlir behind "…" while a model is debugged, but for the lines of the cursor. */
import * as vscode from "vscode";
import { COMMANDS, DEBUG_TYPE, LANGUAGES } from "../contributions";
import { attributesOf } from "./attributes";

/** Memento key: whether they are shown, which is remembered. */
const SHOWN = "tdb.attributesShown";
/** Lines above and below the window that are prepared. */
const MARGIN = 40;

export function registerConceal(context: vscode.ExtensionContext): { dispose(): unknown }[] {
  const concealed = vscode.window.createTextEditorDecorationType({
    // VS Code has no folding within a line; its own style takes the letters away, and the cursor still passes them.
    textDecoration: "none;display:none",
    before: { contentText: "…", color: new vscode.ThemeColor("descriptionForeground") },
  });
  const isOn = () => vscode.debug.activeDebugSession?.type === DEBUG_TYPE && !context.globalState.get(SHOWN, false);
  const draw = (editor: vscode.TextEditor) => {
    if (editor.document.languageId !== LANGUAGES.mlir) return;
    editor.setDecorations(concealed, isOn() ? [...spansIn(editor)] : []);
  };
  const drawAll = () => {
    vscode.window.visibleTextEditors.forEach(draw);
  };
  return [
    concealed,
    vscode.commands.registerCommand(COMMANDS.attributes, async () => {
      await context.globalState.update(SHOWN, !context.globalState.get(SHOWN, false));
      drawAll();
    }),
    vscode.debug.onDidChangeActiveDebugSession(drawAll),
    vscode.window.onDidChangeVisibleTextEditors(drawAll),
    vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
      draw(textEditor);
    }),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
      draw(textEditor);
    }),
  ];
}

function* spansIn({ document, selections, visibleRanges }: vscode.TextEditor): Generator<vscode.Range> {
  const [first, last] = [visibleRanges[0]?.start.line ?? 0, visibleRanges.at(-1)?.end.line ?? 0];
  for (let line = Math.max(0, first - MARGIN); line < Math.min(document.lineCount, last + MARGIN); line++) {
    if (selections.some(({ start, end }) => start.line <= line && line <= end.line)) continue;
    for (const [start, end] of attributesOf(document.lineAt(line).text)) yield new vscode.Range(line, start, line, end);
  }
}
