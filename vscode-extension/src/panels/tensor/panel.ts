import * as vscode from "vscode";
import { textOf } from "../../protocol/errors";
import type { TensorDescription } from "../../protocol/generated";
import type { Answer, Ask, FromTensorPage, Subject, ToTensorPage } from "../../protocol/messages";
import type { Program } from "../../programs/program";
import { answer } from "../answer";
import { frame } from "../frame";
import { VIEWS_COLUMN } from "../room";
import { fromBase64 } from "./bytes";
import { fileOf } from "./save";

/** The type of its tabs. */
export const TENSOR_VIEW = "tdb.tensor";

/** One tensor in an editor tab. It asks the adapter of its session for what it draws. */
export class TensorPanel {
  private readonly panel: vscode.WebviewPanel;
  private readonly history: boolean;
  private over = false;

  constructor(
    root: vscode.Uri,
    private asked: Pick<Program, "id" | "customRequest">,
    private readonly subject: Subject,
    description: TensorDescription,
    closed: (panel: TensorPanel) => void,
    history = false,
  ) {
    this.panel = vscode.window.createWebviewPanel(TENSOR_VIEW, description.title, VIEWS_COLUMN, {
      enableScripts: true,
      retainContextWhenHidden: true,
      localResourceRoots: [vscode.Uri.joinPath(root, "dist")],
    });
    const { webview } = this.panel;
    webview.onDidReceiveMessage((message: FromTensorPage | Ask) => void this.receive(message));
    webview.html = frame(webview, root, "tensor", vscode.l10n.t("Tensor"));
    this.history = history;
    this.panel.onDidDispose(() => {
      this.over = true;
      closed(this);
    });
  }

  /** What it asks. */
  get program(): Pick<Program, "id" | "customRequest"> {
    return this.asked;
  }

  /** Show the tensor of the same name of another program. */
  turnTo(program: Pick<Program, "id" | "customRequest">): void {
    this.asked = program;
    this.send({ type: "stopped" });
  }

  /** The program has stopped, or its memory has been changed. */
  stopped(): void {
    this.send({ type: "stopped" });
  }

  ended(): void {
    this.send({ type: "ended" });
  }

  private send(message: ToTensorPage | Answer): void {
    if (!this.over) void this.panel.webview.postMessage(message);
  }

  private async receive(message: FromTensorPage | Ask): Promise<void> {
    switch (message.type) {
      case "ready":
        this.send({ type: "show", subject: this.subject, history: this.history });
        break;
      case "ask":
        this.send(await answer(this.program, message));
        break;
      case "save":
        await this.save(message).catch((error: unknown) =>
          vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error))),
        );
    }
  }

  private async save({ format, subject, of, picture }: FromTensorPage & { type: "save" }): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const name = `${this.panel.title.replace(/[^\w.-]+/g, "_")}.${format}`;
    const target = await vscode.window.showSaveDialog({
      filters: { [format]: [format] },
      ...(folder && { defaultUri: vscode.Uri.joinPath(folder, name) }),
    });
    if (target === undefined) return;
    const content = format === "png" ? fromBase64(picture ?? "") : await fileOf(this.program, format, subject, of);
    await vscode.workspace.fs.writeFile(target, content);
  }
}
