import * as vscode from "vscode";
import { registerComparePanel } from "./compare/panel";
import { VIEW_COMMANDS } from "./names";
import { Page } from "./page";
import { Sessions } from "./sessions";

/** Views of the model that is being debugged: chip memory, graph, timeline, and what has been compared. */
export function registerViews(extension: vscode.Uri): { dispose(): void }[] {
  const sessions = new Sessions();
  const page = (command: string, name: string, title: string) => {
    const made = new Page(name, title, extension, sessions);
    return [
      made,
      vscode.commands.registerCommand(command, () => {
        made.show();
      }),
    ];
  };
  return [
    sessions,
    ...page(VIEW_COMMANDS.memory, "memory", "Chip Memory"),
    ...page(VIEW_COMMANDS.graph, "graph", "Graph"),
    ...page(VIEW_COMMANDS.timeline, "timeline", "Timeline"),
    ...registerComparePanel(sessions),
  ];
}
