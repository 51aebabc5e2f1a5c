import * as vscode from "vscode";
import { COMMANDS, CONTEXT, SETTINGS, VIEWS } from "../contributions";
import { textOf } from "../protocol/errors";
import type { Moment, Results } from "../protocol/generated";
import type { ToModelPage } from "../protocol/messages";
import type { CurrentSession } from "../sessions/current";
import type { AdapterMessage, SessionHub } from "../sessions/hub";
import { focusOf, openLine, travel } from "../sessions/moment";
import { request } from "../sessions/requests";
import { DifferenceLens } from "./lens";
import { opsOf, type ComparedOp } from "./results";
import { ResultTree, type Node } from "./tree";
import { differsFirst, summary } from "./words";

/** Comparing replays the program up to now. Where that takes longer, the view waits until the user asks for it. */
const FAST_MILLISECONDS = 2000;

/** The exception filter that compares with the reference. */
const MISMATCH = "mismatch";

/** What the adapter's refusal names where there is no reference, in each language. */
const NO_REFERENCE = /\breload reference FILE\b/;

/** From where a command has been chosen that leaves the keyboard in the text. */
const LENS = "lens";

/** The page that shows all of it as a table. */
interface TablePage {
  showAside(): Promise<void>;
  send(message: ToModelPage): void;
}

export function registerComparePanel(panel: ComparePanel): { dispose(): void }[] {
  const command = (name: string, run: (node?: Node, from?: unknown) => unknown) =>
    vscode.commands.registerCommand(name, run);
  return [
    panel,
    command(COMMANDS.travel, (node, from) => panel.travelTo(node, from === LENS)),
    command(COMMANDS.onlyFailed, () => panel.filter(true)),
    command(COMMANDS.all, () => panel.filter(false)),
    command(COMMANDS.culprit, () => panel.goToCulprit()),
    command(COMMANDS.refresh, () => panel.refresh()),
  ];
}

/** What has been compared with the reference up to now: a tree, its badge, and a line where the program stands. */
export class ComparePanel {
  private readonly tree = new ResultTree();
  private readonly lens = new DifferenceLens();
  private readonly view = vscode.window.createTreeView<Node>(VIEWS.compare, {
    treeDataProvider: this.tree,
    showCollapseAll: true,
  });
  private readonly disposables: { dispose(): void }[];
  private isFast = true;
  private asked = 0;
  /** Sessions in which something differs. Others are not compared as long as nobody looks: that replays the program. */
  private readonly differing = new WeakSet<vscode.DebugSession>();

  constructor(
    private readonly sessions: CurrentSession,
    hub: SessionHub,
    private readonly table: TablePage,
  ) {
    void vscode.commands.executeCommand("setContext", CONTEXT.onlyFailed, this.tree.onlyFailed);
    this.disposables = [
      this.view,
      this.lens,
      sessions.onDidChange(() => {
        this.isFast = true;
        this.asked++; // what the other session has been asked is not of interest any more
        this.tree.show(undefined, undefined);
        this.lens.show(undefined);
        this.view.message = "";
        this.view.badge = undefined;
      }),
      sessions.onDidStop(() => this.stopped()),
      this.view.onDidChangeVisibility(({ visible }) => (visible ? this.stopped() : undefined)),
      hub.onMessage(({ session, message }) => {
        if (session === sessions.current && isMismatch(message)) void this.showDifference();
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  async filter(onlyFailed: boolean): Promise<void> {
    this.tree.onlyFailed = onlyFailed;
    this.tree.redraw();
    this.tellPage();
    await vscode.commands.executeCommand("setContext", CONTEXT.onlyFailed, onlyFailed);
  }

  /** Let the page show the same rows as the tree. */
  tellPage(): void {
    this.table.send({ type: "onlyFailed", isWanted: this.tree.onlyFailed });
  }

  async goToCulprit(): Promise<void> {
    const { culprit } = this.tree;
    const session = this.sessions.current;
    if (culprit === undefined || session === undefined) return;
    // A comparison that ends meanwhile makes the rows anew; the line is asked for all the same.
    await Promise.resolve(this.view.reveal(culprit, { select: true, focus: true })).catch(() => undefined);
    await openLine(session, culprit.line);
  }

  async travelTo(node: Node | undefined, isInText: boolean): Promise<void> {
    const chosen = node ?? this.view.selection[0];
    const session = this.sessions.current;
    if (chosen === undefined || session === undefined) return;
    await travel(session, chosen.first, isInText ? undefined : focusOf(VIEWS.compare));
  }

  private async showDifference(): Promise<void> {
    await this.refresh();
    this.lens.reveal();
  }

  private async stopped(): Promise<void> {
    const session = this.sessions.current;
    if (session === undefined || (!this.view.visible && !this.differing.has(session))) return;
    if (this.isFast) {
      await this.refresh();
      return;
    }
    this.view.message = vscode.l10n.t(
      "The program has moved on. Press Compare up to Here to compare again; this takes a while.",
    );
    // What has differed on the way here still does.
    await this.point(session, await request(session, "tdb/moment"), this.tree.culprit);
  }

  async refresh(): Promise<void> {
    const session = this.sessions.current;
    if (session === undefined) return;
    const asked = ++this.asked;
    const start = Date.now();
    try {
      const moment = await request(session, "tdb/moment");
      const results = await request(session, "tdb/results");
      if (asked !== this.asked) return; // a later stop is being asked about
      this.isFast = Date.now() - start < FAST_MILLISECONDS;
      this.table.send({ type: "compared" });
      await this.show(session, moment, results);
    } catch (error) {
      if (asked !== this.asked) return;
      const text = textOf(error);
      const isMissing = NO_REFERENCE.test(text);
      await missing(isMissing ? "reference" : "");
      this.tree.show(undefined, undefined);
      this.lens.show(undefined);
      this.view.message = isMissing ? "" : text;
      this.view.badge = undefined;
    }
    await vscode.commands.executeCommand("setContext", CONTEXT.culprit, this.tree.culprit !== undefined);
  }

  private async show(session: vscode.DebugSession, moment: Moment, results: Results): Promise<void> {
    const { source } = moment;
    await missing(results.withheld === "" ? "" : "inputs");
    this.tree.show(results, source && vscode.debug.asDebugSourceUri(source, session));
    this.view.message = results.withheld === "" ? summary(results) : "";
    const failed = results.rows.filter(({ verdict }) => verdict === "fail").length;
    this.view.badge = failed > 0 ? { value: failed, tooltip: summary(results) } : undefined;
    const culprit = opsOf(results).find(({ isCulprit }) => isCulprit);
    await this.point(session, moment, culprit);
    if (culprit === undefined || this.differing.has(session)) return;
    this.differing.add(session);
    const settings = vscode.workspace.getConfiguration(SETTINGS.compare);
    if (settings.get<boolean>(SETTINGS.open, true)) await this.table.showAside();
  }

  /** Write above the line where the program stands what differs first, unless that is still to come. */
  private async point(
    session: vscode.DebugSession,
    { ordinal, lines: [line] }: Moment,
    culprit: ComparedOp | undefined,
  ): Promise<void> {
    if (line === undefined || culprit === undefined || culprit.first >= ordinal) {
      this.lens.show(undefined);
      return;
    }
    const place = await request(session, "tdb/moment", { line });
    if (place.source === undefined) return;
    const title = differsFirst(culprit, line);
    const command =
      culprit.line === line
        ? { title, command: COMMANDS.table }
        : { title, command: COMMANDS.travel, arguments: [culprit, LENS] };
    const uri = vscode.debug.asDebugSourceUri(place.source, session);
    this.lens.show({ uri, line: place.line ?? line, command });
  }
}

/** Whether the client has learnt that the program stands at a result that differs. */
function isMismatch({ type, command, body }: AdapterMessage): boolean {
  const isInfo = type === "response" && command === "exceptionInfo";
  return isInfo && (body as { readonly exceptionId?: string } | undefined)?.exceptionId === MISMATCH;
}

/** Let the empty view say what is missing, with a button; beside a message it would not. */
async function missing(what: "" | "inputs" | "reference"): Promise<void> {
  await vscode.commands.executeCommand("setContext", CONTEXT.missing, what);
}
