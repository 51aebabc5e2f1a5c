import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { LANGUAGES, SETTINGS } from "../names";

/** The compiler's last word, which compiled models come with; other .mlir files have other servers. */
const FILES = { language: LANGUAGES.mlir, scheme: "file", pattern: "**/*final.mlir" };

/** Start the language server when the first final.mlir is opened. */
export function registerLanguageClient(): vscode.Disposable[] {
  let client: Promise<LanguageClient | undefined> | undefined;
  const look = (document: vscode.TextDocument) => {
    if (client === undefined && vscode.languages.match(FILES, document) > 0 && isWanted(document.uri)) client = start(document.uri);
  };
  const lookAtAll = () => { vscode.workspace.textDocuments.forEach(look); };
  lookAtAll();
  return [
    vscode.workspace.onDidOpenTextDocument(look),
    vscode.workspace.onDidGrantWorkspaceTrust(lookAtAll),
    new vscode.Disposable(() => void client?.then((running) => running?.stop())),
  ];
}

/** The client is loaded when it is needed: it is most of the extension, and debugging does without. */
async function start(uri: vscode.Uri): Promise<LanguageClient | undefined> {
  const { startClient } = await import("./client.js");
  return startClient(uri, FILES);
}

/** A workspace may name the interpreter: merely to open a file must not start what nobody trusts. */
function isWanted(scope: vscode.Uri): boolean {
  return vscode.workspace.isTrusted && vscode.workspace.getConfiguration(SETTINGS.language, scope).get(SETTINGS.enabled, true);
}
