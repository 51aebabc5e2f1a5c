import * as vscode from "vscode";
import { COMMANDS, CONTEXT, VIEWS } from "../contributions";
import { textOf } from "../protocol/errors";
import type { CurrentSession } from "../sessions/current";
import { openLine, travel } from "../sessions/moment";
import { request } from "../sessions/requests";
import { ResultTree, type Node } from "./tree";
import { summary } from "./words";

/** Comparing replays the program up to now. Where that takes longer, the view waits until the user asks for it. */
const FAST_MILLISECONDS = 2000;

/** The tree of what has been compared with the reference up to now, in the Debug side bar. */
export function registerComparePanel(sessions: CurrentSession): { dispose(): void }[] {
  const panel = new ComparePanel(sessions);
  const command = (name: string, run: (node?: Node) => unknown) => vscode.commands.registerCommand(name, run);
  return [
    panel,
    command(COMMANDS.travel, (node) => panel.travelTo(node)),
    command(COMMANDS.onlyFailed, () => panel.filter(true)),
    command(COMMANDS.all, () => panel.filter(false)),
    command(COMMANDS.culprit, () => panel.goToCulprit()),
    command(COMMANDS.refresh, () => panel.refresh()),
  ];
}

class ComparePanel {
  private readonly tree = new ResultTree();
  private readonly view = vscode.window.createTreeView<Node>(VIEWS.compare, {
    treeDataProvider: this.tree,
    showCollapseAll: true,
  });
  private readonly disposables: { dispose(): void }[];
  private isFast = true;
  private asked = 0;

  constructor(private readonly sessions: CurrentSession) {
    this.disposables = [
      this.view,
      sessions.onDidChange(() => {
        this.isFast = true;
        this.asked++; // what the other session has been asked is not of interest any more
        this.tree.show(undefined, undefined);
        this.view.message = "";
        this.view.badge = undefined;
      }),
      sessions.onDidStop(() => this.stopped()),
      this.view.onDidChangeVisibility(({ visible }) => (visible ? this.stopped() : undefined)),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  async filter(onlyFailed: boolean): Promise<void> {
    this.tree.onlyFailed = onlyFailed;
    this.tree.redraw();
    await vscode.commands.executeCommand("setContext", CONTEXT.onlyFailed, onlyFailed);
  }

  async goToCulprit(): Promise<void> {
    const { culprit } = this.tree;
    const session = this.sessions.current;
    if (culprit === undefined || session === undefined) return;
    await this.view.reveal(culprit, { select: true, focus: true });
    await openLine(session, culprit.line);
  }

  async travelTo(node?: Node): Promise<void> {
    const chosen = node ?? this.view.selection[0];
    const session = this.sessions.current;
    if (chosen === undefined || session === undefined) return;
    await travel(session, chosen.first);
  }

  private async stopped(): Promise<void> {
    if (!this.view.visible || this.sessions.current === undefined) return;
    if (this.isFast) await this.refresh();
    else {
      this.view.message = vscode.l10n.t(
        "The program has moved on. Press Compare up to Here to compare again; this takes a while.",
      );
    }
  }

  async refresh(): Promise<void> {
    const session = this.sessions.current;
    if (session === undefined) return;
    const asked = ++this.asked;
    const start = Date.now();
    try {
      const { source } = await request(session, "tdb/moment");
      const results = await request(session, "tdb/results");
      if (asked !== this.asked) return; // a later stop is being asked about
      this.isFast = Date.now() - start < FAST_MILLISECONDS;
      await missing(results.withheld === "" ? "" : "inputs");
      this.tree.show(results, source && vscode.debug.asDebugSourceUri(source, session));
      this.view.message =
        results.withheld === "" ? summary(results) : vscode.l10n.t("Nothing is compared: {0}.", results.withheld);
      const failed = results.rows.filter(({ verdict }) => verdict === "fail").length;
      this.view.badge = failed > 0 ? { value: failed, tooltip: summary(results) } : undefined;
    } catch (error) {
      if (asked !== this.asked) return;
      await missing("reference");
      this.tree.show(undefined, undefined);
      this.view.message = textOf(error);
    }
    await vscode.commands.executeCommand("setContext", CONTEXT.culprit, this.tree.culprit !== undefined);
  }
}

/** Let the empty view offer a button for what is missing. */
async function missing(what: "" | "inputs" | "reference"): Promise<void> {
  await vscode.commands.executeCommand("setContext", CONTEXT.missing, what);
}
