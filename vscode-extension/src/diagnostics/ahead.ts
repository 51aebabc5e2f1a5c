/** What is wrong with the model of an opened folder, in the status bar: before its text is opened or anything runs. */
import * as vscode from "vscode";
import { elided } from "../../pages/shared/text";
import { DEBUG_TYPE, INTERNAL } from "../contributions";
import type { Problems } from "./problems";

const TEXT = "final.mlir";
/** Bytes of a text that is read unasked. */
const LARGEST = 20_000_000;
/** In the status bar: items of higher priority are further left. */
const PRIORITY = 9;
/** Letters of a finding that leave room for the other items. */
const LETTERS = 64;

export function registerAhead(problems: Problems): vscode.Disposable[] {
  const item = vscode.window.createStatusBarItem("tdb.ahead", vscode.StatusBarAlignment.Left, PRIORITY);
  item.name = vscode.l10n.t("TDB: Findings");
  item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  const show = async () => {
    const isDebugged = vscode.debug.activeDebugSession?.type === DEBUG_TYPE;
    const found = isDebugged ? [] : (await texts()).map((uri) => ({ uri, finding: problems.firstFinding(uri) }));
    const [first] = found.filter(({ finding }) => finding !== undefined);
    if (first?.finding === undefined) {
      item.hide();
      return;
    }
    const { line, message, ordinal } = first.finding;
    const title = vscode.l10n.t("line {0}: {1} → Travel", line, elided(message, LETTERS));
    item.text = `$(bug) ${title}`;
    item.tooltip = message;
    item.command = { title, command: INTERNAL.travelTo, arguments: [first.uri, ordinal] };
    item.show();
  };
  const read = async () => {
    // The language server looks through what the editor has read, whether or not it is shown.
    for (const uri of await texts()) await vscode.workspace.openTextDocument(uri);
  };
  void read();
  return [
    vscode.Disposable.from(item),
    problems.onDidChange(show),
    vscode.debug.onDidChangeActiveDebugSession(show),
    vscode.workspace.onDidChangeWorkspaceFolders(read),
  ];
}

/** Of the folders that are opened as models: those above them may hold any number. */
async function texts(): Promise<vscode.Uri[]> {
  const uris = (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => vscode.Uri.joinPath(uri, TEXT));
  const sizes = await Promise.all(
    uris.map((uri) =>
      vscode.workspace.fs.stat(uri).then(
        ({ size }) => size,
        () => Infinity,
      ),
    ),
  );
  return uris.filter((_, index) => (sizes[index] ?? Infinity) <= LARGEST);
}
