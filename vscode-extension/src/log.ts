import * as vscode from "vscode";

let channel: vscode.LogOutputChannel | undefined;

/** The output channel "TDB": what the extension does, and what the processes say that it starts. */
export function log(): vscode.LogOutputChannel {
  channel ??= vscode.window.createOutputChannel("TDB", { log: true });
  return channel;
}

/** One of `vscode.window.showErrorMessage` and its like. */
type Show = (text: string, options: vscode.MessageOptions, ...buttons: string[]) => Thenable<string | undefined>;

/** Show a message with these buttons and one more that opens the log. Returns the button that was pressed. */
export async function showWithLog(
  show: Show,
  text: string,
  options: vscode.MessageOptions,
  ...buttons: string[]
): Promise<string | undefined> {
  const showLog = vscode.l10n.t("Show Log");
  const answer = await show(text, options, ...buttons, showLog);
  if (answer === showLog) log().show();
  return answer;
}
