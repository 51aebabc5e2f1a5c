import * as vscode from "vscode";
import { DEBUG_TYPE, LANGUAGES } from "../contributions";
import { pathOf } from "../programs/uri";
import type { InlineValue } from "../protocol/generated";
import type { SessionHub } from "../sessions/hub";
import { request } from "../sessions/requests";
import { byLine, placeOf } from "./places";

/**
 * Columns of a line whose values VS Code itself may write: it does so behind the end of the line, and lines of
 * final.mlir end far outside of most windows.
 */
const FITS = 90;

/** Values beside the lines of final.mlir and of the listing: operands of what runs next, results of what has run. */
export function registerInlineValues(hub: SessionHub): { dispose(): unknown }[] {
  const beside = vscode.window.createTextEditorDecorationType({
    after: {
      color: new vscode.ThemeColor("editor.foreground"),
      backgroundColor: new vscode.ThemeColor("editor.inlineValuesBackground"),
      margin: "0 0.6em 0 0.6em",
    },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  /** Whose values are written into an editor, and how often they have become out of date. */
  const writers = new WeakMap<vscode.TextEditor, vscode.DebugSession>();
  const moments = new WeakMap<vscode.DebugSession, number>();
  const momentOf = (session: vscode.DebugSession) => moments.get(session) ?? 0;
  /** In all editors: VS Code asks anew only for the one that it goes to. */
  const clear = (session: vscode.DebugSession) => {
    moments.set(session, momentOf(session) + 1);
    for (const editor of vscode.window.visibleTextEditors)
      if (writers.get(editor) === session) editor.setDecorations(beside, []);
  };
  const provider: vscode.InlineValuesProvider = {
    async provideInlineValues(document, viewPort, { frameId }) {
      const session = vscode.debug.activeDebugSession;
      if (session?.type !== DEBUG_TYPE) return [];
      const moment = momentOf(session);
      const values = await asked(session, document, viewPort, frameId);
      if (moment !== momentOf(session)) return []; // of a moment that is over
      const [behind, within] = placed(document, values);
      for (const editor of vscode.window.visibleTextEditors) {
        if (editor.document !== document) continue;
        writers.set(editor, session);
        editor.setDecorations(beside, within);
      }
      return behind;
    },
  };
  return [
    beside,
    ...Object.values(LANGUAGES).map((language) => vscode.languages.registerInlineValuesProvider(language, provider)),
    hub.onStopped(clear),
    hub.onEnded(clear),
    hub.onMessage(({ session, message }) => {
      if (message.type === "event" && message.event === "continued") clear(session);
    }),
  ];
}

async function asked(
  session: vscode.DebugSession,
  document: vscode.TextDocument,
  { start, end }: vscode.Range,
  frameId: number,
): Promise<readonly InlineValue[]> {
  const source =
    document.uri.scheme === "debug" ? { name: document.uri.path.split("/").at(-1) } : { path: pathOf(document.uri) };
  try {
    const lines = { line: start.line + 1, endLine: end.line + 1 };
    return (await request(session, "tdb/inlineValues", { frameId, source, ...lines })).values;
  } catch {
    return []; // the program has moved on meanwhile
  }
}

/** What VS Code writes behind short lines, and what is written within long ones, behind the word it belongs to. */
function placed(
  document: vscode.TextDocument,
  values: readonly InlineValue[],
): [vscode.InlineValueText[], vscode.DecorationOptions[]] {
  const behind: vscode.InlineValueText[] = [];
  const within: vscode.DecorationOptions[] = [];
  for (const [line, all] of byLine(values)) {
    if (line > document.lineCount) continue;
    const { text, range } = document.lineAt(line - 1);
    if (text.length <= FITS) {
      const whole = all.map(({ name, text }) => `${name} ${text}`).join("  ");
      behind.push(new vscode.InlineValueText(range, whole));
      continue;
    }
    for (const { name, text: shown } of all) {
      const end = placeOf(name, text);
      if (end === undefined) continue;
      const at = new vscode.Position(line - 1, end);
      within.push({ range: new vscode.Range(at, at), renderOptions: { after: { contentText: shown } } });
    }
  }
  return [behind, within];
}
