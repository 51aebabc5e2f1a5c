import * as vscode from "vscode";
import { labelsOf } from "../../pages/shared/text";
import { leading, opsOf, telling, type ComparedOp, type ComparedRows, type Row, type Verdict } from "./results";
import { numbersOf, opName, rowName, verdictName } from "./words";

export type Node = ComparedOp | Row;

/** Letters of a name that a narrow side bar shows, before its numbers. */
const LETTERS = 24;

const ICONS: Record<Verdict, vscode.ThemeIcon> = {
  pass: new vscode.ThemeIcon("pass", new vscode.ThemeColor("testing.iconPassed")),
  fail: new vscode.ThemeIcon("error", new vscode.ThemeColor("testing.iconFailed")),
  unknown: new vscode.ThemeIcon("question", new vscode.ThemeColor("testing.iconUnset")),
  excepted: new vscode.ThemeIcon("circle-slash", new vscode.ThemeColor("testing.iconSkipped")),
};

/** Ops in the order of execution, below them their tensors. */
export class ResultTree implements vscode.TreeDataProvider<Node> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private ops: readonly ComparedOp[] = [];
  private uri: vscode.Uri | undefined;
  /** By name. */
  private labels: ReadonlyMap<string, string> = new Map();
  /** Rows that are of interest. */
  private telling: ReadonlySet<Row> = new Set();
  onlyFailed = true;

  /** `uri`: of final.mlir, where there is one. */
  show(results: ComparedRows | undefined, uri: vscode.Uri | undefined): void {
    const rows = results?.rows ?? [];
    this.ops = results === undefined ? [] : opsOf(results);
    this.labels = labelsOf(
      rows.map(({ name }) => name),
      LETTERS,
    );
    this.telling = new Set(telling(rows));
    this.uri = uri;
    this.redraw();
  }

  redraw(): void {
    this.changed.fire(undefined);
  }

  get culprit(): ComparedOp | undefined {
    return this.ops.find(({ isCulprit }) => isCulprit);
  }

  getChildren(node?: Node): Node[] {
    const found: readonly Node[] = node === undefined ? this.ops : "rows" in node ? node.rows : [];
    return found.filter(
      (one) => !this.onlyFailed || ("rows" in one ? one.rows : [one]).some((row) => this.telling.has(row)),
    );
  }

  getParent(node: Node): Node | undefined {
    return "rows" in node ? undefined : this.ops.find(({ rows }) => rows.includes(node));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const full = "rows" in node ? opName(node) : rowName(node);
    const label = full.replace(node.name, this.labels.get(node.name) ?? node.name);
    const item = "rows" in node ? opItem(node, label) : rowItem(node, label);
    item.iconPath = ICONS[node.verdict];
    item.contextValue = "rows" in node ? "op" : "tensor";
    item.accessibilityInformation = { label: `${full}, ${verdictName(node.verdict)}, ${String(item.description)}` };
    if (this.uri !== undefined && node.line > 0) {
      const start = new vscode.Position(node.line - 1, 0);
      const options: vscode.TextDocumentShowOptions = {
        selection: new vscode.Range(start, start),
        viewColumn: vscode.ViewColumn.One,
        preserveFocus: true,
      };
      item.command = { command: "vscode.open", title: vscode.l10n.t("Go to Line"), arguments: [this.uri, options] };
    }
    return item;
  }
}

function opItem(op: ComparedOp, label: string): vscode.TreeItem {
  const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `op ${String(op.line)}`;
  const row = leading(op);
  const parts = [
    op.isCulprit ? vscode.l10n.t("first to differ") : "",
    row ? numbersOf(row) : "",
    op.line > 0 ? vscode.l10n.t("line {0}", op.line) : "",
  ];
  item.description = parts.filter(Boolean).join(" · ");
  item.tooltip = tooltip(row ?? op.rows[0]);
  return item;
}

function rowItem(row: Row, label: string): vscode.TreeItem {
  const item = new vscode.TreeItem(label);
  item.id = `${String(row.line)} ${row.role} ${String(row.index)} ${row.name}`;
  item.description = [row.dtype, numbersOf(row) || row.note].filter(Boolean).join(" · ");
  item.tooltip = tooltip(row);
  return item;
}

function tooltip(row: Row | undefined): string {
  if (row === undefined) return "";
  return [
    `${row.name}: ${verdictName(row.verdict)}`,
    numbersOf(row),
    ...row.complaints,
    row.note,
    row.blame?.text ?? "",
  ]
    .filter(Boolean)
    .join("\n");
}
