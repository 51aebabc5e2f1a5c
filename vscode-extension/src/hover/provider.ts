import * as vscode from "vscode";
import { LANGUAGES } from "../names";
import { asmExpressionAt, mlirExpressionAt, type ValueExpression } from "./expressions";

/** Tells the editor what to evaluate under the mouse: its own idea of a word leaves out the `%`. */
export function registerHovers(): vscode.Disposable[] {
  return [
    register(LANGUAGES.mlir, (document, position) =>
      mlirExpressionAt(document.lineAt(position).text, position.character, (alias) => definitionIn(document, alias)),
    ),
    register(LANGUAGES.asm, (document, position) => asmExpressionAt(document.lineAt(position).text, position.character)),
  ];
}

type At = (document: vscode.TextDocument, position: vscode.Position) => ValueExpression | undefined;

function register(language: string, at: At): vscode.Disposable {
  return vscode.languages.registerEvaluatableExpressionProvider(language, {
    provideEvaluatableExpression(document, position) {
      const found = at(document, position);
      return (
        found &&
        new vscode.EvaluatableExpression(
          new vscode.Range(position.line, found.start, position.line, found.end),
          found.expression,
        )
      );
    },
  });
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
