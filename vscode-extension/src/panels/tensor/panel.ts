import * as vscode from "vscode";
import { textOf } from "../../protocol/errors";
import type { TensorDescription } from "../../protocol/generated";
import type { Answer, Ask, FromTensorPage, Subject, ToTensorPage } from "../../protocol/messages";
import type { Program } from "../../programs/program";
import { answer } from "../answer";
import { Page } from "../page";
import { VIEWS_COLUMN } from "../room";
import { fromBase64 } from "./bytes";
import { fileOf } from "./save";

/** The type of its tabs. */
export const TENSOR_VIEW = "tdb.tensor";

/** One tensor in an editor tab. It asks the adapter of its session for what it draws. */
export class TensorPanel {
  private panel: vscode.WebviewPanel;
  private readonly page: Page<FromTensorPage | Ask>;

  constructor(
    private readonly root: vscode.Uri,
    private asked: Pick<Program, "id" | "customRequest">,
    private readonly subject: Subject,
    { title }: TensorDescription,
    private readonly closed: (panel: TensorPanel) => void,
    private readonly history = false,
  ) {
    this.page = new Page(
      root,
      "tensor",
      vscode.l10n.t("Tensor"),
      (message: FromTensorPage | Ask) => this.receive(message),
      () => {
        this.replace();
      },
    );
    this.panel = this.open(title, VIEWS_COLUMN);
  }

  private open(title: string, viewColumn: vscode.ViewColumn, preserveFocus = false): vscode.WebviewPanel {
    const panel = vscode.window.createWebviewPanel(
      TENSOR_VIEW,
      title,
      { viewColumn, preserveFocus },
      { ...Page.options(this.root), retainContextWhenHidden: true },
    );
    panel.onDidDispose(() => {
      if (panel === this.panel) this.closed(this);
    });
    this.page.fill(panel);
    return panel;
  }

  /** The new panel first: a group without tabs would be closed. */
  private replace(): void {
    const old = this.panel;
    this.panel = this.open(old.title, old.viewColumn ?? VIEWS_COLUMN, !old.active);
    old.dispose();
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
    this.page.send(message);
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
