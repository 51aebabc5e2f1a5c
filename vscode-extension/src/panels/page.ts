import * as vscode from "vscode";
import { log } from "../log";
import { frame, type PageName } from "./frame";

/** A page in sight that is not ready after this is loaded again; each time it has longer, as it may only be slow. */
const PATIENCE_MILLISECONDS = 2000;
const LONGER = 1.5;
/** What is done about a page that is not ready, one after the other. Then it stays as it is. */
const CURES = ["load", "load", "replace", "load"] as const;

/** A page whose script has this nonce has started. */
interface Ready {
  readonly nonce?: string;
}

type Holder = vscode.WebviewPanel | vscode.WebviewView;

/**
 * One of the pages of pages/ in a webview.
 *
 * VS Code sometimes leaves a webview blank: its frame is there and the script never runs. Each page reports that it is
 * ready, with the nonce of its script, so one that does not in sight is blank: it is loaded again, then its webview is
 * replaced. The nonce tells the page from the one before it, which may only have been slow: VS Code shows that one still
 * and keeps all messages for its successor.
 */
export class Page<Message extends { readonly type: string }> {
  private holder: Holder | undefined;
  private nonce = "";
  private isReady = false;
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
    this.wasVisible = holder.visible;
    holder.webview.onDidReceiveMessage((message: Message) => {
      if (holder !== this.holder) return;
      if (message.type === "ready" && (message as Ready).nonce === this.nonce) {
        this.isReady = true;
        this.cures = 0;
        clearTimeout(this.timer);
      }
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
    this.isReady = false;
    this.nonce = crypto.randomUUID();
    holder.webview.html = frame(holder.webview, this.root, this.name, this.title, this.nonce);
    this.watch(holder);
  }

  /** A page that is not kept while hidden starts anew when it is shown. */
  private changeVisibility(holder: Holder): void {
    if (holder.visible === this.wasVisible) return;
    this.wasVisible = holder.visible;
    clearTimeout(this.timer);
    if (!holder.visible) return;
    const isKept = "options" in holder && holder.options.retainContextWhenHidden === true;
    this.isReady &&= isKept;
    this.watch(holder);
  }

  private watch(holder: Holder): void {
    clearTimeout(this.timer);
    if (!holder.visible || this.isReady || this.cures >= CURES.length) return;
    this.timer = setTimeout(
      () => {
        this.cure(holder);
      },
      PATIENCE_MILLISECONDS * LONGER ** this.cures,
    );
  }

  private cure(holder: Holder): void {
    const cure = CURES[this.cures++];
    log().info(`the page ${this.name} is not ready: ${String(cure)}`);
    if (cure === "replace" && this.replace !== undefined) this.replace();
    else this.load(holder);
  }
}
