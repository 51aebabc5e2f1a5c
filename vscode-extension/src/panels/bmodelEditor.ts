import * as vscode from "vscode";
import type { SetUp } from "../adapter/installation";
import { choosePart } from "../configuration/parts";
import { programOfUri } from "../configuration/models";
import type { Contents } from "../container/contents";
import type { Links } from "../container/links";
import { MODEL_EDITOR, RECORDING_EDITOR } from "../contributions";
import { textOf } from "../protocol/errors";
import type { FromEditorPage, ToEditorPage } from "../protocol/messages";
import { NoDebugger, type Lease } from "../programs/pool";
import type { ModelReference } from "../programs/program";
import { pathOf, uriOf } from "../programs/uri";
import { Page } from "./page";
import { isCovered } from "./room";

/** A .bmodel or a recording in an editor: what it consists of, as tables with links, and a button to debug it. */
export function registerModelEditor(
  context: vscode.ExtensionContext,
  installation: SetUp,
  contents: Contents,
  links: Links,
): vscode.Disposable[] {
  const root = context.extensionUri;
  const provider = (title: string): vscode.CustomReadonlyEditorProvider => ({
    openCustomDocument: (uri) => ({ uri, dispose: () => undefined }),
    async resolveCustomEditor({ uri }, panel) {
      const program = (await programOfUri(uri)) ?? pathOf(uri);
      panel.webview.options = Page.options(root);
      const editor = new ModelEditor(root, title, program, panel, installation, contents, links);
      panel.onDidDispose(() => {
        editor.dispose();
      });
    },
  });
  return [
    vscode.window.registerCustomEditorProvider(MODEL_EDITOR, provider(vscode.l10n.t("Compiled model"))),
    vscode.window.registerCustomEditorProvider(RECORDING_EDITOR, provider(vscode.l10n.t("Recording"))),
  ];
}

class ModelEditor implements vscode.Disposable {
  private readonly page: Page<FromEditorPage>;
  private readonly disposables: vscode.Disposable[];
  private model: ModelReference;
  private lease: Lease | undefined;
  private isOver = false;
  private asked = 0;

  constructor(
    root: vscode.Uri,
    title: string,
    program: string,
    private readonly panel: vscode.WebviewPanel,
    private readonly installation: SetUp,
    private readonly contents: Contents,
    private readonly links: Links,
  ) {
    this.model = { program };
    this.page = new Page(root, "model", title, (message: FromEditorPage) => this.receive(message));
    this.page.fill(panel);
    this.disposables = [
      installation.onDidChange(() => void this.show()),
      contents.onDidChange((program) => (program === this.lease?.program ? this.show() : undefined)),
    ];
  }

  dispose(): void {
    this.isOver = true;
    for (const disposable of this.disposables) disposable.dispose();
    this.lease?.release();
    choosePart(this.model.program, undefined);
  }

  private async receive(message: FromEditorPage): Promise<void> {
    switch (message.type) {
      case "ready":
        await this.show();
        break;
      case "setUp":
        await this.installation.setUp(vscode.workspace.getWorkspaceFolder(uriOf(this.model.program))?.uri);
        break;
      case "choose":
        this.model = { program: this.model.program, net: message.net, stage: message.stage };
        // F5 in this editor starts what it shows.
        choosePart(this.model.program, this.model);
        await this.show();
        break;
      case "follow":
        await this.links.follow(this.model, message.link, message.takesKeyboard || isCovered(this.panel.viewColumn));
    }
  }

  /** The model stays loaded while it is shown: its links are about it. */
  private async show(): Promise<void> {
    const asked = ++this.asked;
    this.send({ type: "loading" });
    try {
      const lease = await this.contents.program(this.model);
      if (this.isOver || asked !== this.asked) {
        lease.release();
        return;
      }
      this.lease?.release();
      this.lease = lease;
      this.send({ type: "contents", contents: await this.contents.of(this.model) });
    } catch (error) {
      this.send({ type: "failed", why: textOf(error), canSetUp: error instanceof NoDebugger });
    }
  }

  private send(message: ToEditorPage): void {
    this.page.send(message);
  }
}
