import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { DEBUG_TYPE, SETTINGS } from "../contributions";
import { showWithLog } from "../log";
import type { Found } from "./find";
import type { Installation } from "./installation";
import { AdapterProcess, type Death } from "./process";
import { notFound } from "./words";

export function registerAdapter(installation: Installation): vscode.Disposable[] {
  return [
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, {
      createDebugAdapterDescriptor: (session) => createDebugAdapterDescriptor(session, installation),
    }),
  ];
}

async function createDebugAdapterDescriptor(
  session: vscode.DebugSession,
  installation: Installation,
): Promise<vscode.DebugAdapterDescriptor> {
  if (session.configuration.request === "attach") {
    const { host, port } = session.configuration as { host?: string; port?: number } & vscode.DebugConfiguration;
    if (port === undefined) {
      throw new Error(
        vscode.l10n.t("TDB: an attach configuration needs 'port': the PORT of 'tdb-dap adapter --listen HOST:PORT'."),
      );
    }
    return new vscode.DebugAdapterServer(port, host ?? "127.0.0.1");
  }
  const scope = session.workspaceFolder?.uri;
  const search = await installation.searchToStart(scope);
  const { found } = search;
  // Seldom seen: the configuration provider has looked before, and has asked.
  if (found === undefined) throw new Error(vscode.l10n.t("TDB: {0}", notFound(search, installation.version)));
  const { executable, args, fixed } = found.command;
  const command = { executable, args: [...args, ...(fixed ? [] : transcript(session, scope))] };
  return new vscode.DebugAdapterInlineImplementation(
    new AdapterProcess(command, (death) => void report(death, found, session, installation)),
  );
}

/** The adapter has died: what is known of it, once, and what can be done. */
async function report(death: Death, found: Found, session: vscode.DebugSession, installation: Installation) {
  const again = vscode.l10n.t("Debug Again");
  const install = vscode.l10n.t("Install into a Private Environment");
  const { how, lastWord, wasAlive } = death;
  const text = wasAlive
    ? vscode.l10n.t("TDB: the debug adapter has ended unexpectedly ({0}). {1}", how, lastWord)
    : vscode.l10n.t("TDB: the debug adapter did not start ({0}). {1}", how, lastWord);
  // The bundled one does not suit every system: an old C library, or another than GNU's.
  const isUnsuitable = !wasAlive && found.origin === "bundled";
  const show = vscode.window.showErrorMessage;
  const answer = await showWithLog(show, text.trim(), {}, isUnsuitable ? install : again);
  if (answer === again || (answer === install && (await installation.setUp(session.workspaceFolder?.uri))))
    await vscode.debug.startDebugging(session.workspaceFolder, session.configuration);
}

/** Arguments that make the adapter write down its messages, if the user wants that. */
function transcript(session: vscode.DebugSession, scope: vscode.Uri | undefined): string[] {
  const directory = vscode.workspace.getConfiguration(SETTINGS.section, scope).get<string>(SETTINGS.logDirectory, "");
  if (directory === "") return [];
  mkdirSync(directory, { recursive: true });
  const time = new Date().toISOString().replace(/[:.]/g, "-");
  return ["--log", join(directory, `tdb-${time}-${session.id}.jsonl`)];
}
