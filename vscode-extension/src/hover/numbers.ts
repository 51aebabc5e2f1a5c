import * as vscode from "vscode";
import { COMMANDS, DEBUG_TYPE, LANGUAGES } from "../contributions";
import { pathOf } from "../programs/uri";
import { expressionAt } from "./provider";

/**
 * The present contents of a tensor in the editor's own hover, with a link to its picture.
 *
 * While a session has stopped, VS Code shows the debugger's hover, which takes no links; with Alt it shows this one.
 */
export function registerNumbers(): vscode.Disposable[] {
  return Object.values(LANGUAGES).map((language) => vscode.languages.registerHoverProvider(language, { provideHover }));
}

async function provideHover(
  document: vscode.TextDocument,
  position: vscode.Position,
): Promise<vscode.Hover | undefined> {
  const frame = vscode.debug.activeStackItem;
  if (!(frame instanceof vscode.DebugStackFrame) || frame.session.type !== DEBUG_TYPE) return undefined;
  const found = expressionAt(document, position);
  if (found === undefined) return undefined;
  const { expression, start, end } = found;
  try {
    const { path } = document.uri.scheme === "debug" ? { path: undefined } : { path: pathOf(document.uri) };
    const where =
      path === undefined ? {} : { source: { path }, line: position.line + 1, column: position.character + 1 };
    const asked = { expression, frameId: frame.frameId, context: "hover", ...where };
    const { result, type } = (await frame.session.customRequest("evaluate", asked)) as {
      result: string;
      type?: string;
    };
    const text = new vscode.MarkdownString();
    text.appendCodeblock(result, "");
    if (type !== undefined) {
      const argument = encodeURIComponent(JSON.stringify([expression]));
      const [link, title] = [vscode.l10n.t("View Tensor"), vscode.l10n.t("As pictures and table")];
      text.appendMarkdown(`[${link}](command:${COMMANDS.viewTensor}?${argument} "${title}")`);
      text.isTrusted = { enabledCommands: [COMMANDS.viewTensor] };
    }
    return new vscode.Hover(text, new vscode.Range(position.line, start, position.line, end));
  } catch {
    return undefined; // nothing of the kind where the program stands
  }
}
