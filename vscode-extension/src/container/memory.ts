/** The memories of the chip as a tree: what is in them now, or of a model that is not debugged what ever is. */
import * as vscode from "vscode";
import { INTERNAL, VIEWS } from "../contributions";
import type { Memory, MemoryMap, Resident } from "../protocol/generated";
import { textOf } from "../protocol/errors";
import type { CurrentProgram } from "../programs/current";
import type { Program } from "../programs/program";
import { request } from "../sessions/requests";
import { bytesText, typeText } from "./words";

type Row = { readonly memory: Memory } | { readonly resident: Resident };

const ADDRESS_BASE = 16;

class MemoryTree implements vscode.TreeDataProvider<Row> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private map: MemoryMap | undefined;
  private program: Program | undefined;

  show(map: MemoryMap | undefined, program: Program | undefined): void {
    this.map = map;
    this.program = program;
    this.changed.fire(undefined);
  }

  getChildren(row?: Row): Row[] {
    if (row === undefined) return (this.map?.memories ?? []).map((memory) => ({ memory }));
    return "memory" in row ? this.shown(row.memory).map((resident) => ({ resident })) : [];
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return "memory" in row ? this.memoryItem(row.memory) : this.residentItem(row.resident);
  }

  /** A model that is not debugged stands before its first command, when next to nothing is in use. */
  private shown({ residents }: Memory): Resident[] {
    const found = this.program?.session === undefined ? [...residents] : residents.filter(({ alive }) => alive);
    return found.sort((one, other) => one.start - other.start || one.born - other.born);
  }

  private memoryItem(memory: Memory): vscode.TreeItem {
    const { Collapsed, None } = vscode.TreeItemCollapsibleState;
    const count = this.shown(memory).length;
    const item = new vscode.TreeItem(memory.title, count > 0 ? Collapsed : None);
    item.id = `${memory.space} ${String(memory.core)} ${memory.title}`;
    item.iconPath = new vscode.ThemeIcon("circuit-board");
    const use =
      this.program?.session === undefined
        ? count === 1
          ? vscode.l10n.t("1 tensor")
          : vscode.l10n.t("{0} tensors", count)
        : memory.size > 0
          ? vscode.l10n.t("{0} of {1} in use", bytesText(memory.used), bytesText(memory.size))
          : vscode.l10n.t("{0} in use", bytesText(memory.used));
    item.description = use;
    return item;
  }

  private residentItem(resident: Resident): vscode.TreeItem {
    const { name, start, stop, born, died, line } = resident;
    const item = new vscode.TreeItem(name);
    const address = `0x${start.toString(ADDRESS_BASE)}`;
    const parts = [typeText(resident), address, bytesText(stop - start)];
    item.description = parts.join(" · ");
    item.tooltip = vscode.l10n.t("{0}: from command {1} to {2}", name, born, died);
    item.iconPath = new vscode.ThemeIcon("symbol-variable");
    if (this.program?.model !== undefined && line > 0)
      item.command = {
        command: INTERNAL.follow,
        title: vscode.l10n.t("Go to Line"),
        arguments: [this.program.model, { to: "line", line }],
      };
    return item;
  }
}

export function registerMemory(programs: CurrentProgram): { dispose(): unknown }[] {
  const tree = new MemoryTree();
  const view = vscode.window.createTreeView<Row>(VIEWS.memory, { treeDataProvider: tree, showCollapseAll: true });
  let asked = 0;
  const look = async () => {
    const program = programs.current;
    if (!view.visible && program !== undefined) return;
    const mine = ++asked;
    try {
      const map = program && (await request(program, "tdb/memoryMap"));
      if (mine !== asked) return; // a later moment is being asked about
      tree.show(map, program);
      view.message = "";
      view.description = program?.name ?? "";
    } catch (error) {
      if (mine !== asked) return;
      tree.show(undefined, undefined);
      view.message = textOf(error);
    }
  };
  return [
    view,
    programs.onDidChange(look),
    programs.onDidStop(look),
    view.onDidChangeVisibility(({ visible }) => (visible ? look() : undefined)),
  ];
}
