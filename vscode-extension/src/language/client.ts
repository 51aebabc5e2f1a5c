import { spawn, type ChildProcess } from "node:child_process";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn } from "vscode-languageclient/node";
import { languageServer, type ServerCommand } from "../adapter/find";
import { searchAdapter } from "../adapter/locate";
import { LANGUAGES, SETTINGS } from "../names";

/** The compiler's last word, which compiled models come with; other .mlir files have other servers. */
const FILES: vscode.DocumentFilter = { language: LANGUAGES.mlir, scheme: "file", pattern: "**/*final.mlir" };

/** Start the language server when the first final.mlir is opened. */
export function registerLanguageClient(): vscode.Disposable[] {
  let client: Promise<LanguageClient | undefined> | undefined;
  const look = (document: vscode.TextDocument) => {
    if (client === undefined && vscode.languages.match(FILES, document) > 0 && isWanted(document.uri)) client = start(document.uri);
  };
  vscode.workspace.textDocuments.forEach(look);
  return [
    vscode.workspace.onDidOpenTextDocument(look),
    new vscode.Disposable(() => void client?.then((running) => running?.stop())),
  ];
}

function isWanted(scope: vscode.Uri): boolean {
  return vscode.workspace.getConfiguration(SETTINGS.language, scope).get(SETTINGS.enabled, true);
}

/** Undefined where there is no server, after the user has been told once. */
async function start(uri: vscode.Uri): Promise<LanguageClient | undefined> {
  const { found } = await searchAdapter(vscode.workspace.getWorkspaceFolder(uri)?.uri);
  const command = found && languageServer(found);
  // Without an adapter F5 says what to do; a file that is only read is no reason to.
  if (command === undefined) return undefined;
  let said = "";
  const client = new LanguageClient(
    "tdb",
    "TDB Language Server",
    () => Promise.resolve(serve(command, (text) => { said += text; })),
    {
      documentSelector: [FILES as { language: string; scheme: string; pattern: string }],
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
    },
  );
  try {
    await client.start();
    return client;
  } catch (error) {
    void complain(said.trim().split("\n").at(-1) ?? (error instanceof Error ? error.message : String(error)));
    return undefined;
  }
}

function serve({ executable, args }: ServerCommand, say: (text: string) => void): ChildProcess {
  const server = spawn(executable, args, { cwd: homedir(), windowsHide: true });
  server.stderr.setEncoding("utf8").on("data", say);
  return server;
}

async function complain(reason: string): Promise<void> {
  const never = "Do Not Start It";
  const message = `TDB: no language server for final.mlir, debugging works without it. ${reason}`;
  if ((await vscode.window.showInformationMessage(message, never)) !== never) return;
  await vscode.workspace.getConfiguration(SETTINGS.language).update(SETTINGS.enabled, false, vscode.ConfigurationTarget.Global);
}
