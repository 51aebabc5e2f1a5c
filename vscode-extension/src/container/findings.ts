/** What is wrong with a run, as a tree: findings of sanitizers, and ops that differ from the reference. */
import * as vscode from "vscode";
import { leading, opsOf, type ComparedOp } from "../compare/results";
import { numbersOf, opName } from "../compare/words";
import { COMMANDS, DEBUG_TYPE, INTERNAL, VIEWS } from "../contributions";
import { resultsIn } from "../language/verdicts";
import type { CommandPlace, Finding, Findings } from "../protocol/generated";
import type { RequestName } from "../protocol/requests";
import { sessionProgram } from "../programs/program";
import { focusOf, travel } from "../sessions/moment";
import type { AdapterMessage, SessionHub } from "../sessions/hub";

/** A row; with an ordinal, one can travel there. */
interface Row {
  readonly item: vscode.TreeItem;
  readonly ordinal?: number;
  readonly children?: Row[];
}

/** The findings if a message from the adapter brings some. */
export function findingsIn({ type, command, success, body }: AdapterMessage): readonly Finding[] | undefined {
  const isAnswer = type === "response" && success === true && command === ("tdb/findings" satisfies RequestName);
  return isAnswer ? (body as Findings).findings : undefined;
}

class FindingTree implements vscode.TreeDataProvider<Row> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private findings: readonly Finding[] = [];
  private failed: readonly ComparedOp[] = [];
  session: vscode.DebugSession | undefined;

  /** A session has begun: nothing is known of it. */
  begin(session: vscode.DebugSession): void {
    this.session = session;
    this.show({ findings: [], failed: [] });
  }

  show(more: { findings?: readonly Finding[]; failed?: readonly ComparedOp[] }): void {
    this.findings = more.findings ?? this.findings;
    this.failed = more.failed ?? this.failed;
    this.changed.fire(undefined);
  }

  /** Of the sanitizers' findings: ops that differ are counted where they are compared. */
  get count(): number {
    return this.findings.length;
  }

  getTreeItem({ item }: Row): vscode.TreeItem {
    return item;
  }

  getChildren(row?: Row): Row[] {
    if (row !== undefined) return row.children ?? [];
    return [...this.failed.map((op) => this.opRow(op)), ...this.findings.map((finding) => this.findingRow(finding))];
  }

  private opRow(op: ComparedOp): Row {
    const worst = leading(op);
    const item = this.item(
      opName(op),
      op.line,
      new vscode.ThemeIcon("error", new vscode.ThemeColor("testing.iconFailed")),
    );
    const first = op.isCulprit ? vscode.l10n.t("first to differ") : "";
    item.description = [first, worst ? numbersOf(worst) : "", lineText(op.line)].filter(Boolean).join(" · ");
    item.tooltip = [item.description, worst?.blame?.text ?? ""].filter(Boolean).join("\n");
    return { item, ordinal: op.first };
  }

  private findingRow({ severity, title, text, details, command, related }: Finding): Row {
    const icon =
      severity === "error"
        ? new vscode.ThemeIcon("bug", new vscode.ThemeColor("list.errorForeground"))
        : new vscode.ThemeIcon("bug", new vscode.ThemeColor("list.warningForeground"));
    const children = [
      ...details.map((detail) => ({ item: new vscode.TreeItem(detail) })),
      ...related.map((place) => this.placeRow(place)),
    ];
    const item = this.item(text, command.line, icon);
    item.description = [title, lineText(command.line)].filter(Boolean).join(" · ");
    item.tooltip = [text, ...details].join("\n");
    if (children.length > 0) item.collapsibleState = vscode.TreeItemCollapsibleState.Collapsed;
    return { item, ordinal: command.ordinal, children };
  }

  private placeRow({ token, name, line, ordinal }: CommandPlace): Row {
    const item = this.item(`${token} ${name}`, line, new vscode.ThemeIcon("arrow-small-right"));
    item.description = lineText(line);
    return { item, ordinal };
  }

  private item(label: string, line: number, icon: vscode.ThemeIcon): vscode.TreeItem {
    const item = new vscode.TreeItem(label);
    item.iconPath = icon;
    item.contextValue = "finding";
    const model = this.session && sessionProgram(this.session).model;
    if (model !== undefined && line > 0)
      item.command = {
        command: INTERNAL.follow,
        title: vscode.l10n.t("Go to Line"),
        arguments: [model, { to: "line", line }],
      };
    return item;
  }
}

function lineText(line: number): string {
  return line > 0 ? vscode.l10n.t("line {0}", line) : "";
}

export function registerFindings(hub: SessionHub): { dispose(): unknown }[] {
  const tree = new FindingTree();
  const view = vscode.window.createTreeView<Row>(VIEWS.findings, { treeDataProvider: tree });
  const badge = () => {
    const { count } = tree;
    const tooltip = count === 1 ? vscode.l10n.t("1 finding") : vscode.l10n.t("{0} findings", count);
    view.badge = count > 0 ? { value: count, tooltip } : undefined;
  };
  return [
    view,
    vscode.debug.onDidStartDebugSession((session) => {
      if (session.type !== DEBUG_TYPE) return;
      tree.begin(session);
      badge();
    }),
    // Whichever view asks the adapter, its answer is shown here, too.
    hub.onMessage(({ session, message }) => {
      if (session.id !== tree.session?.id) return;
      const findings = findingsIn(message);
      const results = resultsIn(message);
      if (findings !== undefined) tree.show({ findings });
      if (results !== undefined) tree.show({ failed: opsOf(results).filter(({ verdict }) => verdict === "fail") });
      if (findings !== undefined || results !== undefined) badge();
    }),
    vscode.commands.registerCommand(COMMANDS.travelFinding, async ({ ordinal }: Row) => {
      if (ordinal === undefined || tree.session === undefined) return;
      await travel(tree.session, ordinal, focusOf(VIEWS.findings));
    }),
  ];
}
