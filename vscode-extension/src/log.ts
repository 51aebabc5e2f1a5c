import * as vscode from "vscode";

let channel: vscode.LogOutputChannel | undefined;

/** The output channel "TDB": what the extension does, and what the processes say that it starts. */
export function log(): vscode.LogOutputChannel {
  channel ??= vscode.window.createOutputChannel("TDB", { log: true });
  return channel;
}
