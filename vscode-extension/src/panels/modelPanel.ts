import * as vscode from "vscode";
import { COMMANDS } from "../contributions";
import { textOf } from "../protocol/errors";
import type { Answer, Ask, FromModelPage, ToModelPage } from "../protocol/messages";
import type { CurrentSession } from "../sessions/current";
import { openLine, travel } from "../sessions/moment";
import { answer } from "./answer";
import { frame, type PageName } from "./frame";

/** One of the pages of pages/ in a panel: it asks the adapter, and hears of each stop. */
export class ModelPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private readonly disposables: vscode.Disposable[];

  /** `name`: of the page, and of its files in dist; `title`: of its tab. */
  constructor(
    private readonly name: PageName,
    private readonly title: string,
    private readonly extension: vscode.Uri,
    private readonly sessions: CurrentSession,
  ) {
    this.disposables = [
      sessions.onDidChange(() => {
        this.announce();
      }),
      sessions.onDidStop(() => {
        this.send({ type: "stopped" });
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
    this.panel?.dispose();
  }

  show(): void {
    if (this.panel !== undefined) {
      this.panel.reveal();
      return;
    }
    const panel = vscode.window.createWebviewPanel(`tdb.${this.name}`, this.title, vscode.ViewColumn.Two, {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(this.extension, "dist")],
    });
    this.panel = panel;
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    panel.webview.onDidReceiveMessage((message: FromModelPage | Ask) => void this.receive(message));
    panel.webview.html = frame(panel.webview, this.extension, this.name, this.title);
  }

  private announce(): void {
    this.send({ type: "session", name: this.sessions.current?.name });
  }

  private send(message: ToModelPage | Answer): void {
    void this.panel?.webview.postMessage(message);
  }

  private async receive(message: FromModelPage | Ask): Promise<void> {
    const session = this.sessions.current;
    if (message.type === "ready") {
      this.announce();
    } else if (message.type === "ask") {
      this.send(await answer(session, message));
    } else if (session !== undefined) {
      await act(session, message).catch((error: unknown) => void vscode.window.showErrorMessage(textOf(error)));
    }
  }
}

/** What a page wants done outside of it. */
async function act(
  session: vscode.DebugSession,
  message: Exclude<FromModelPage, { readonly type: "ready" }>,
): Promise<void> {
  switch (message.type) {
    case "open":
      await openLine(session, message.line);
      break;
    case "travel":
      await travel(session, message.ordinal);
      break;
    case "tensor":
      await vscode.commands.executeCommand(COMMANDS.viewTensor, message);
      break;
    case "chooseReference":
      await vscode.commands.executeCommand(COMMANDS.reference);
      break;
    case "saveText":
      await saveText(message.name, message.text);
  }
}

async function saveText(name: string, text: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog(folder && { defaultUri: vscode.Uri.joinPath(folder, name) });
  if (target !== undefined) await vscode.workspace.fs.writeFile(target, Buffer.from(text));
}
