/** The tree of compiled models: those of the workspace, the one being debugged, and those opened from elsewhere. */
import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { PROGRAM_FILES, programsInWorkspace } from "../configuration/models";
import { COMMANDS, INTERNAL, VIEWS } from "../contributions";
import type { SetUp } from "../adapter/installation";
import { textOf } from "../protocol/errors";
import type { Link } from "../protocol/messages";
import { NoDebugger } from "../programs/pool";
import { sameModel, sessionProgram, type ModelReference } from "../programs/program";
import type { CurrentSession } from "../sessions/current";
import { request } from "../sessions/requests";
import type { Contents } from "./contents";
import type { Links } from "./links";
import { modelNode, type Node } from "./nodes";

/** Where the programs are kept that were opened from outside of the workspace. */
const OPENED = "tdb.openedModels";
const MOST_OPENED = 10;

/** Remember a model that is not in the workspace. */
export async function rememberModel(state: vscode.Memento, program: string): Promise<void> {
  const before = state.get<string[]>(OPENED, []).filter((other) => other !== program);
  await state.update(OPENED, [program, ...before].slice(0, MOST_OPENED));
  await vscode.commands.executeCommand(COMMANDS.refreshModels);
}

export class ModelTree implements vscode.TreeDataProvider<Node> {
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  /** The programs that were listed last; undefined before the first time. */
  private shown: readonly string[] | undefined;
  /** Commands executed in the session. */
  private now: number | undefined;
  /** Rows with others below that show where the program stands. */
  private following: Node[] = [];

  constructor(
    private readonly state: vscode.Memento,
    private readonly contents: Contents,
    private readonly sessions: CurrentSession,
  ) {}

  refresh(): void {
    this.contents.forget();
    this.following = [];
    this.changed.fire(undefined);
  }

  /** The program has moved. */
  moveTo(now: number | undefined): void {
    this.now = now;
    for (const node of this.following) this.changed.fire(node);
  }

  /** Of a directory that is written elsewhere, the editor reports only that there is a new one. */
  async lookForNew(): Promise<void> {
    // Rows that are only just being listed are not to be asked for again: one that is opened meanwhile would stay empty.
    const before = this.shown?.join();
    if (before !== undefined && (await this.programs()).join() !== before) this.changed.fire(undefined);
  }

  getTreeItem({ item }: Node): vscode.TreeItem {
    return item;
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node === undefined) return this.models();
    try {
      const children = (await node.children?.()) ?? [];
      const following = children.filter(({ followsTime }) => followsTime === true);
      if (following.length > 0) this.following = following;
      return children;
    } catch (error) {
      return [failure(node.model, error)];
    }
  }

  private async programs(): Promise<string[]> {
    const elsewhere = this.state.get<string[]>(OPENED, []).filter((program) => existsSync(program));
    return [...new Set([...(await programsInWorkspace()), ...elsewhere])];
  }

  private async models(): Promise<Node[]> {
    const session = this.sessions.current;
    const debugged = session && sessionProgram(session).model;
    const programs = await this.programs();
    this.shown = programs;
    const found: ModelReference[] = programs.map((program) => ({ program }));
    if (debugged !== undefined && !found.some((model) => sameModel(model, debugged))) found.unshift(debugged);
    const nodes = found.map((model) =>
      modelNode(
        model,
        sameModel(debugged, model),
        placeOf(model.program),
        (part) => this.contents.of(part),
        () => this.now,
      ),
    );
    // A single model is what the user has come for.
    const [only, ...others] = nodes;
    if (only !== undefined && others.length === 0)
      only.item.collapsibleState = vscode.TreeItemCollapsibleState.Expanded;
    return nodes;
  }
}

/** Where a program is in the workspace; "" of the workspace itself. */
function placeOf(program: string): string {
  const isRoot = vscode.workspace.workspaceFolders?.some(({ uri }) => uri.fsPath === program) === true;
  return isRoot ? "" : vscode.workspace.asRelativePath(program);
}

/** A model that cannot be read says why, where its rows would be. */
function failure(model: ModelReference, error: unknown): Node {
  const why = textOf(error);
  const item = new vscode.TreeItem(why);
  item.iconPath = new vscode.ThemeIcon("warning");
  item.tooltip = why;
  if (error instanceof NoDebugger) item.command = { command: COMMANDS.setUp, title: why };
  return { item, model };
}

export function registerModels(
  context: vscode.ExtensionContext,
  installation: SetUp,
  contents: Contents,
  sessions: CurrentSession,
  links: Links,
): { dispose(): unknown }[] {
  const tree = new ModelTree(context.workspaceState, contents, sessions);
  const refresh = () => {
    tree.refresh();
  };
  const watcher = vscode.workspace.createFileSystemWatcher(PROGRAM_FILES);
  const view = vscode.window.createTreeView<Node>(VIEWS.models, { treeDataProvider: tree, showCollapseAll: true });
  const look = (isSeen: boolean) => (isSeen && view.visible ? tree.lookForNew() : undefined);
  return [
    view,
    view.onDidChangeVisibility(({ visible }) => look(visible)),
    vscode.window.onDidChangeWindowState(({ focused }) => look(focused)),
    contents.onDidChange(refresh),
    watcher,
    watcher.onDidCreate(refresh),
    watcher.onDidDelete(refresh),
    watcher.onDidChange(refresh),
    sessions.onDidChange(refresh),
    sessions.onDidStop(async (session) => {
      const moment = await request(session, "tdb/moment").catch(() => undefined); // the session may have ended
      tree.moveTo(moment?.ordinal);
    }),
    installation.onDidChange(refresh),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
    vscode.commands.registerCommand(COMMANDS.refreshModels, refresh),
    vscode.commands.registerCommand(COMMANDS.debugNode, ({ model }: Node) => links.follow(model, { to: "debug" })),
    vscode.commands.registerCommand(COMMANDS.nodeListing, ({ model, listingLine }: Node) =>
      links.follow(model, { to: "listing", line: listingLine ?? 1 }, true),
    ),
    vscode.commands.registerCommand(INTERNAL.follow, (model: ModelReference, link: Link) => links.follow(model, link)),
  ];
}
