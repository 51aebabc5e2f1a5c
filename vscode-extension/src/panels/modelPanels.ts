import * as vscode from "vscode";
import { registerComparePanel } from "../compare/view";
import { COMMANDS } from "../contributions";
import { ModelPanel } from "./modelPanel";
import { Sessions } from "../sessions/current";

/** Views of the model that is being debugged: chip memory, graph, timeline, and what has been compared. */
export function registerModelPanels(extension: vscode.Uri): { dispose(): void }[] {
  const sessions = new Sessions();
  const page = (command: string, name: string, title: string) => {
    const made = new ModelPanel(name, title, extension, sessions);
    return [
      made,
      vscode.commands.registerCommand(command, () => {
        made.show();
      }),
    ];
  };
  return [
    sessions,
    ...page(COMMANDS.memory, "memory", "Chip Memory"),
    ...page(COMMANDS.graph, "graph", "Graph"),
    ...page(COMMANDS.timeline, "timeline", "Timeline"),
    ...registerComparePanel(sessions),
  ];
}
