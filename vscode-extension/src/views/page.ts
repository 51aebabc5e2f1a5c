import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { FromPage, ToPage } from "./messages";
import type { Sessions } from "./sessions";
import { openLine, travel } from "./travel";

/** Pages may ask for what the adapter knows about the model, and nothing else. */
const REQUESTS = "tdb/";

/** A page of webview/ in a panel: it asks the adapter, and hears of each stop. */
export class Page implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private readonly disposables: vscode.Disposable[];

  /** `name`: of the page, and of its files in dist; `title`: of its tab. */
  constructor(
    private readonly name: string,
    private readonly title: string,
    private readonly extension: vscode.Uri,
    private readonly sessions: Sessions,
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
    const folder = vscode.Uri.joinPath(this.extension, "dist");
    const panel = vscode.window.createWebviewPanel(`tdb.${this.name}`, this.title, vscode.ViewColumn.Two, {
      enableScripts: true,
      localResourceRoots: [folder],
    });
    this.panel = panel;
    panel.onDidDispose(() => {
      this.panel = undefined;
    });
    panel.webview.onDidReceiveMessage((message: FromPage) => void this.receive(message));
    panel.webview.html = html(panel.webview, folder, this.name, this.title);
  }

  private announce(): void {
    this.send({ type: "session", name: this.sessions.current?.name });
  }

  private send(message: ToPage): void {
    void this.panel?.webview.postMessage(message);
  }

  private async receive(message: FromPage): Promise<void> {
    const session = this.sessions.current;
    if (message.type === "ready") {
      this.announce();
    } else if (message.type === "ask") {
      this.send({ type: "answer", id: message.id, ...(await answer(session, message.request, message.arguments)) });
    } else if (session !== undefined) {
      const done = message.type === "open" ? openLine(session, message.line) : travel(session, message.ordinal);
      await done.catch((error: unknown) => void vscode.window.showErrorMessage(textOf(error)));
    }
  }
}

async function answer(session: vscode.DebugSession | undefined, request: string, rest: object): Promise<{ body?: unknown; error?: string }> {
  if (session === undefined) return { error: "no model is being debugged" };
  if (!request.startsWith(REQUESTS)) return { error: `a view may not ask for ${request}` };
  try {
    return { body: (await session.customRequest(request, rest)) as unknown };
  } catch (error) {
    return { error: textOf(error) };
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function html(webview: vscode.Webview, folder: vscode.Uri, name: string, title: string): string {
  const nonce = randomBytes(16).toString("base64");
  const uri = (file: string) => webview.asWebviewUri(vscode.Uri.joinPath(folder, file)).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${uri(`${name}.css`)}">
<title>${title}</title>
</head>
<body>
<script nonce="${nonce}" src="${uri(`${name}.js`)}"></script>
</body>
</html>`;
}
