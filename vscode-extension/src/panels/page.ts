import * as vscode from "vscode";
import { log } from "../log";
import { frame, type PageName } from "./frame";

/** A page in sight that is silent for this long is loaded again; twice as long each time, as a page may only be slow. */
const PATIENCE_MILLISECONDS = 2000;
/** What is done about a silent page, one after the other. Then it stays as it is. */
const CURES = ["load", "load", "replace", "load"] as const;

type Holder = vscode.WebviewPanel | vscode.WebviewView;

/**
 * One of the pages of pages/ in a webview.
 *
 * VS Code sometimes leaves a webview blank: its frame is there and the script never runs. Each page sends a message when
 * its script starts, so one that is silent in sight is blank: it is loaded again, then its webview is replaced.
 */
export class Page<Message> {
  private holder: Holder | undefined;
  private isAlive = false;
  private wasVisible = false;
  private cures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `replace`: make a new webview in the place of the one that stays blank, and fill it. */
  constructor(
    private readonly root: vscode.Uri,
    private readonly name: PageName,
    private readonly title: string,
    private readonly receive: (message: Message) => unknown,
    private readonly replace?: () => void,
  ) {}

  /** Options of the webviews that can be filled. */
  static options(root: vscode.Uri): vscode.WebviewOptions {
    return { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(root, "dist")] };
  }

  /** Load the page into a webview. */
  fill(holder: Holder): void {
    this.holder = holder;
    this.isAlive = false;
    this.wasVisible = holder.visible;
    holder.webview.onDidReceiveMessage((message: Message) => {
      if (holder !== this.holder) return;
      this.isAlive = true;
      this.cures = 0;
      clearTimeout(this.timer);
      this.receive(message);
    });
    const changed = () => {
      if (holder === this.holder) this.changeVisibility(holder);
    };
    if ("onDidChangeViewState" in holder) holder.onDidChangeViewState(changed);
    else holder.onDidChangeVisibility(changed);
    holder.onDidDispose(() => {
      if (holder !== this.holder) return;
      this.holder = undefined;
      this.cures = 0;
      clearTimeout(this.timer);
    });
    this.load(holder);
  }

  /** Send the page a message, if there is a webview. */
  send(message: object): void {
    void this.holder?.webview.postMessage(message);
  }

  private load(holder: Holder): void {
    holder.webview.html = frame(holder.webview, this.root, this.name, this.title);
    this.watch(holder);
  }

  /** A page that is not kept while hidden starts anew when it is shown. */
  private changeVisibility(holder: Holder): void {
    if (holder.visible === this.wasVisible) return;
    this.wasVisible = holder.visible;
    clearTimeout(this.timer);
    if (!holder.visible) return;
    const isKept = "options" in holder && holder.options.retainContextWhenHidden === true;
    this.isAlive &&= isKept;
    this.watch(holder);
  }

  private watch(holder: Holder): void {
    clearTimeout(this.timer);
    if (!holder.visible || this.isAlive || this.cures >= CURES.length) return;
    this.timer = setTimeout(
      () => {
        this.cure(holder);
      },
      PATIENCE_MILLISECONDS * 2 ** this.cures,
    );
  }

  private cure(holder: Holder): void {
    const cure = CURES[this.cures++];
    log().info(`the page ${this.name} is silent: ${String(cure)}`);
    if (cure === "replace" && this.replace !== undefined) this.replace();
    else this.load(holder);
  }
}
