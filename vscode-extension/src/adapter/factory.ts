import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import { DEBUG_TYPE, SETTINGS } from "../contributions";
import { searchAdapter, whatToDo } from "./locate";

export function registerAdapter(): vscode.Disposable[] {
  return [vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, { createDebugAdapterDescriptor })];
}

async function createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
  if (session.configuration.request === "attach") {
    const { host, port } = session.configuration as { host?: string; port?: number } & vscode.DebugConfiguration;
    if (port === undefined) {
      throw new Error("TDB: an attach configuration needs 'port': the PORT of 'tdb-dap adapter --listen HOST:PORT'.");
    }
    return new vscode.DebugAdapterServer(port, host ?? "127.0.0.1");
  }
  const scope = session.workspaceFolder?.uri;
  const search = await searchAdapter(scope);
  // Seldom seen: the configuration provider has looked before, and its message has a button.
  if (search.found === undefined) throw new Error(whatToDo(search));
  const { executable, args, fixed } = search.found;
  // Not in the workspace: Python looks for modules in its working directory.
  const options = { cwd: homedir() };
  return new vscode.DebugAdapterExecutable(
    executable,
    [...args, ...(fixed ? [] : transcript(session, scope))],
    options,
  );
}

/** Arguments that make the adapter write down its messages, if the user wants that. */
function transcript(session: vscode.DebugSession, scope: vscode.Uri | undefined): string[] {
  const directory = vscode.workspace.getConfiguration(SETTINGS.section, scope).get<string>(SETTINGS.logDirectory, "");
  if (directory === "") return [];
  mkdirSync(directory, { recursive: true });
  const time = new Date().toISOString().replace(/[:.]/g, "-");
  return ["--log", join(directory, `tdb-${time}-${session.id}.jsonl`)];
}
