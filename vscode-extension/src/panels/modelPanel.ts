import * as vscode from "vscode";
import { COMMANDS, INTERNAL } from "../contributions";
import { textOf } from "../protocol/errors";
import type { Answer, Ask, FromModelPage, Link, PageState, ToModelPage } from "../protocol/messages";
import type { CurrentProgram } from "../programs/current";
import { debug, travelIn } from "../programs/debugging";
import type { ModelReference, Program } from "../programs/program";
import { showLine } from "../programs/sources";
import { answer } from "./answer";
import type { PageName } from "./frame";
import { Page } from "./page";
import { becomesActive, isCovered, makeRoom, VIEWS_COLUMN } from "./room";

/** Pages that show a model that is not being debugged. */
const NEED_NO_SESSION: ReadonlySet<PageName> = new Set(["memory", "graph", "timeline"]);

/** Pages that keep what cannot be had again at once: a prompt that is being typed, values over the whole run. */
const KEPT: ReadonlySet<PageName> = new Set(["answer", "trace"]);

/** One of the pages of pages/ in a panel: it asks the adapter, and hears of each stop. */
export class ModelPanel implements vscode.Disposable, vscode.WebviewPanelSerializer<PageState> {
  private panel: vscode.WebviewPanel | undefined;
  private readonly page: Page<FromModelPage | Ask>;
  private readonly disposables: vscode.Disposable[];

  /** `name`: of the page, and of its files in dist; `title`: of its tab; `onReady`: the page can be told something. */
  constructor(
    private readonly name: PageName,
    private readonly title: string,
    private readonly extension: vscode.Uri,
    private readonly programs: CurrentProgram,
    private readonly onReady: () => void = () => undefined,
  ) {
    this.page = new Page(
      extension,
      name,
      title,
      (message: FromModelPage | Ask) => this.receive(message),
      () => {
        this.replace();
      },
    );
    this.disposables = [
      vscode.window.registerWebviewPanelSerializer(this.viewType, this),
      programs.onDidChange(() => {
        this.announce();
      }),
      programs.onDidStop(() => {
        this.send({ type: "stopped" });
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
    this.panel?.dispose();
  }

  get isOpen(): boolean {
    return this.panel !== undefined;
  }

  /** Show this model, or the one that is being debugged or looked at. */
  async show(model?: ModelReference): Promise<void> {
    if (!(await this.programs.open(this, model))) return;
    if (this.panel === undefined) this.create(false);
    else this.panel.reveal();
  }

  /** Open the view of what is being debugged where nobody has asked for it: the keyboard stays where it is. */
  async showAside(): Promise<void> {
    if (this.panel === undefined && (await this.programs.open(this))) this.create(true);
  }

  /** The same, and in front of the other views of its group. */
  async bringAside(): Promise<void> {
    if (this.panel === undefined) await this.showAside();
    else this.panel.reveal(undefined, true);
  }

  private create(preserveFocus: boolean, viewColumn = VIEWS_COLUMN): void {
    this.adopt(
      vscode.window.createWebviewPanel(
        this.viewType,
        this.title,
        { viewColumn, preserveFocus },
        { ...Page.options(this.extension), retainContextWhenHidden: KEPT.has(this.name) },
      ),
    );
  }

  /** The new panel first: a group without tabs would be closed. */
  private replace(): void {
    const old = this.panel;
    if (old === undefined) return;
    this.create(!old.active, old.viewColumn);
    old.dispose();
  }

  /** Fill a panel that was open before the window was reloaded; one that shows nothing without a session is closed. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: PageState | undefined): Promise<void> {
    const model = NEED_NO_SESSION.has(this.name) ? state?.model : undefined;
    if (model === undefined || this.panel !== undefined || !(await this.programs.open(this, model))) panel.dispose();
    else this.adopt(panel);
  }

  private get viewType(): string {
    return `tdb.${this.name}`;
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel = panel;
    panel.onDidDispose(() => {
      if (panel !== this.panel) return;
      this.panel = undefined;
      this.programs.close(this);
    });
    this.page.fill(panel);
  }

  private announce(): void {
    const program = this.programs.current;
    const isDebugged = program?.session !== undefined;
    this.send({ type: "session", name: program?.name, model: program?.model, isDebugged });
  }

  /** Tell the page something, if there is one. */
  send(message: ToModelPage | Answer): void {
    this.page.send(message);
  }

  private async receive(message: FromModelPage | Ask): Promise<void> {
    const program = this.programs.current;
    if (message.type === "ready") {
      this.announce();
      this.onReady();
    } else if (message.type === "ask") {
      this.send(await answer(program, message));
    } else if (message.type === "debug") {
      if (program?.model === undefined) await vscode.commands.executeCommand(COMMANDS.debug);
      else await debug(program.model);
    } else if (program !== undefined) {
      const focus = () => this.panel?.reveal();
      if (this.panel !== undefined && message.type === "travel") await becomesActive(this.panel);
      await act(program, message, this.panel?.viewColumn, focus).catch(
        (error: unknown) => void vscode.window.showErrorMessage(textOf(error)),
      );
    }
  }
}

/** What a page in a column wants done outside of it; `focus`: of the page. */
async function act(
  program: Program,
  message: Exclude<FromModelPage, { readonly type: "ready" | "debug" }>,
  column: vscode.ViewColumn | undefined,
  focus: () => unknown,
): Promise<void> {
  switch (message.type) {
    case "open":
      await showLine(program, message.line, message.takesKeyboard || isCovered(column));
      break;
    case "travel":
      await makeRoom(column);
      await travelIn(program, message.ordinal, message.takesKeyboard ? undefined : focus);
      break;
    case "tensor":
      if (program.session !== undefined) await vscode.commands.executeCommand(COMMANDS.viewTensor, message);
      else await vscode.commands.executeCommand(INTERNAL.follow, program.model, tensorLink(message.expression));
      break;
    case "prompt":
      await vscode.commands.executeCommand(INTERNAL.ask, program.model, message, column);
      break;
    case "chooseFloatModel":
      await vscode.commands.executeCommand(INTERNAL.floatModel, program.model);
      break;
    case "chooseReference":
      await vscode.commands.executeCommand(COMMANDS.reference);
      break;
    case "chooseInput":
      await vscode.commands.executeCommand(COMMANDS.input);
      break;
    case "onlyFailed":
      await vscode.commands.executeCommand(message.isWanted ? COMMANDS.onlyFailed : COMMANDS.all);
      break;
    case "trace":
      await vscode.commands.executeCommand(COMMANDS.trace);
      break;
    case "dropTrace":
      await vscode.commands.executeCommand(INTERNAL.dropTrace, message.key);
      break;
    case "stopWhere":
      vscode.debug.addBreakpoints([new vscode.FunctionBreakpoint(message.name, true, message.condition)]);
      break;
    case "saveText":
      await saveText(message.name, message.text);
  }
}

function tensorLink(expression: string): Link {
  return { to: "tensor", expression };
}

async function saveText(name: string, text: string): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog(folder && { defaultUri: vscode.Uri.joinPath(folder, name) });
  if (target !== undefined) await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text));
}
