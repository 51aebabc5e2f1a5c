import * as vscode from "vscode";
import { textOf } from "../errors";
import { answer } from "../webview/answer";
import type { Answer, Ask } from "../webview/messages";
import { page } from "../webview/page";
import { csv, decode, npy } from "./files";
import type { Description, FromView, Numbers, Subject, ToView } from "./messages";

/** Elements that are fetched at once for a file. */
const CHUNK = 1 << 20;

/** One tensor in an editor tab. It asks the adapter of its session for what it draws. */
export class TensorPanel {
  private readonly panel: vscode.WebviewPanel;
  private over = false;

  constructor(
    root: vscode.Uri,
    readonly session: vscode.DebugSession,
    private readonly subject: Subject,
    description: Description,
    closed: (panel: TensorPanel) => void,
  ) {
    this.panel = vscode.window.createWebviewPanel("tdb.tensor", description.title, vscode.ViewColumn.Beside, {
      enableScripts: true,
      retainContextWhenHidden: true,
      localResourceRoots: [vscode.Uri.joinPath(root, "dist")],
    });
    const { webview } = this.panel;
    webview.onDidReceiveMessage((message: FromView | Ask) => void this.receive(message));
    webview.html = page(webview, root, "tensor", "Tensor");
    this.panel.onDidDispose(() => {
      this.over = true;
      closed(this);
    });
  }

  /** The program has stopped, or its memory has been changed. */
  stopped(): void {
    this.send({ type: "stopped" });
  }

  ended(): void {
    this.send({ type: "ended" });
  }

  private send(message: ToView | Answer): void {
    if (!this.over) void this.panel.webview.postMessage(message);
  }

  private async receive(message: FromView | Ask): Promise<void> {
    switch (message.type) {
      case "ready":
        this.send({ type: "show", subject: this.subject });
        break;
      case "ask":
        this.send(await answer(this.session, message));
        break;
      case "save":
        await this.save(message).catch((error: unknown) => vscode.window.showErrorMessage(`TDB: ${textOf(error)}`));
    }
  }

  private async save({ format, subject, of, picture }: FromView & { type: "save" }): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const name = `${this.panel.title.replace(/[^\w.-]+/g, "_")}.${format}`;
    const target = await vscode.window.showSaveDialog({
      filters: { [format]: [format] },
      ...(folder && { defaultUri: vscode.Uri.joinPath(folder, name) }),
    });
    if (target === undefined) return;
    const content = format === "png" ? Buffer.from(picture ?? "", "base64") : await this.file(format, { ...subject, of });
    await vscode.workspace.fs.writeFile(target, content);
  }

  private async file(format: "npy" | "csv", which: object): Promise<Uint8Array> {
    const { shape } = await this.ask<Description>("tdb/tensor", which);
    const size = shape.reduce((product, extent) => product * extent, 1);
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: "Saving the tensor" }, async (progress) => {
      const chunks: Buffer[] = [];
      let numbers: Numbers["format"] = "f32";
      for (let start = 0; start < size; start += CHUNK) {
        const count = Math.min(CHUNK, size - start);
        const part = await this.ask<Numbers>("tdb/tensorData", { ...which, start, count });
        numbers = part.format;
        chunks.push(Buffer.from(part.data, "base64"));
        progress.report({ increment: (100 * count) / size });
      }
      const data = Buffer.concat(chunks);
      return format === "npy" ? npy(shape, numbers, data) : Buffer.from(csv(shape, decode(numbers, data)));
    });
  }

  private async ask<Body>(command: string, which: object): Promise<Body> {
    return (await this.session.customRequest(command, which)) as Body;
  }
}
