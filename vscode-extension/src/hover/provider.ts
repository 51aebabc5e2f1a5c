import * as vscode from "vscode";
import { LANGUAGES } from "../contributions";
import { asmExpressionAt, mlirExpressionAt, type ValueExpression } from "./expressions";

/** The expression under the mouse, for the editor to evaluate: its own words leave out the `%`. */
export function registerHovers(): vscode.Disposable[] {
  return Object.values(LANGUAGES).map((language) =>
    vscode.languages.registerEvaluatableExpressionProvider(language, {
      provideEvaluatableExpression(document, position) {
        const found = expressionAt(document, position);
        const { line } = position;
        return (
          found &&
          new vscode.EvaluatableExpression(new vscode.Range(line, found.start, line, found.end), found.expression)
        );
      },
    }),
  );
}

/** The debugger's expression for a position of final.mlir or of the disassembly. */
export function expressionAt(document: vscode.TextDocument, position: vscode.Position): ValueExpression | undefined {
  const { text } = document.lineAt(position.line);
  if (document.languageId === LANGUAGES.asm) return asmExpressionAt(text, position.character);
  return mlirExpressionAt(text, position.character, (alias) => definitionIn(document, alias));
}

/** Alias definitions stand at the top and, nearly all, at the bottom of the file. */
function definitionIn(document: vscode.TextDocument, alias: string): string | undefined {
  const head = `${alias} = `;
  for (let line = document.lineCount - 1; line >= 0; line--) {
    const { text } = document.lineAt(line);
    if (text.startsWith(head)) return text.slice(head.length);
  }
  return undefined;
}
