import { spawn, type ChildProcess } from "node:child_process";
import { homedir } from "node:os";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type TextDocumentFilter,
} from "vscode-languageclient/node";
import { subcommand, type ServerCommand } from "../adapter/find";
import type { Installation } from "../adapter/installation";
import { SETTINGS } from "../contributions";
import type { Problems } from "../diagnostics/problems";
import { log, showWithLog } from "../log";
import { lastLine, textOf } from "../protocol/errors";
import { NOTIFICATIONS } from "./notifications";

/** Files of models, and the reports about them of `tdb-dap check` and `tdb-dap sanitize`. */
const WATCHED = "**/{check.json,sanitize.json,compilation.bmodel,final.mlir,tensor_location.json}";

/** Undefined where there is no server, after one message. */
export async function startClient(
  uri: vscode.Uri,
  texts: TextDocumentFilter[],
  problems: Problems,
  installation: Installation,
): Promise<LanguageClient | undefined> {
  const { found } = await installation.search(vscode.workspace.getWorkspaceFolder(uri)?.uri);
  const command = found && subcommand(found.command, "lsp");
  // Without a debugger F5 asks what to do, and the status bar says so; a file that is only read is no reason to ask.
  if (command === undefined) return undefined;
  const server = new Server(command);
  const client = new QuietClient("tdb", vscode.l10n.t("TDB Language Server"), () => Promise.resolve(server.process), {
    documentSelector: texts,
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher(WATCHED) },
    middleware: {
      handleDiagnostics: (file, found) => {
        problems.serverSays(file, found);
      },
      didOpen: async (document, next) => {
        const program = programOf(document.uri);
        if (program !== undefined)
          await client.sendNotification(NOTIFICATIONS.program, { uri: document.uri.toString(), program });
        await next(document);
      },
    },
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
    },
  });
  try {
    await client.start();
    return client;
  } catch (error) {
    void complain((await server.lastWord()) ?? textOf(error));
    return undefined;
  }
}

/** The model that a text belongs to which only a session has. */
function programOf(uri: vscode.Uri): string | undefined {
  const session = vscode.debug.activeDebugSession;
  if (uri.scheme !== "debug" || session === undefined || !uri.query.includes(session.id)) return undefined;
  const { program } = session.configuration as { program?: unknown };
  return typeof program === "string" ? program : undefined;
}

/** Whatever goes wrong is said once and by us; the details are in the output channel. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

class Server {
  readonly process: ChildProcess;
  private said = "";
  private readonly ended: Promise<void>;

  constructor({ executable, args }: ServerCommand) {
    log().info(`starts ${[executable, ...args].join(" ")}`);
    const server = spawn(executable, args, { cwd: homedir(), windowsHide: true });
    server.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.said = (this.said + text).slice(-10_000);
    });
    this.ended = new Promise((resolve) => {
      server.once("close", () => {
        resolve();
      });
      server.once("error", (error) => {
        this.said = error.message;
        resolve();
      });
    });
    this.process = server;
  }

  /** The last line of its complaints, when it has ended or is ended now. */
  async lastWord(): Promise<string | undefined> {
    this.process.kill();
    await this.ended;
    return this.said.trim() === "" ? undefined : lastLine(this.said);
  }
}

async function complain(reason: string): Promise<void> {
  const never = vscode.l10n.t("Disable Language Server");
  log().error(`the language server did not start: ${reason}`);
  const text = vscode.l10n.t(
    "TDB: the language server for final.mlir did not start; debugging works without it. {0}",
    reason,
  );
  const answer = await showWithLog(vscode.window.showWarningMessage, text, {}, never);
  if (answer !== never) return;
  await vscode.workspace
    .getConfiguration(SETTINGS.language)
    .update(SETTINGS.enabled, false, vscode.ConfigurationTarget.Global);
}
