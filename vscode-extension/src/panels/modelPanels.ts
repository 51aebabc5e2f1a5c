import * as vscode from "vscode";
import { registerReference } from "../compare/reference";
import { registerComparePanel } from "../compare/view";
import { COMMANDS } from "../contributions";
import { CurrentSession } from "../sessions/current";
import type { SessionHub } from "../sessions/hub";
import type { PageName } from "./frame";
import { ModelPanel } from "./modelPanel";

/** Views of the model that is being debugged: chip memory, graph, timeline, and what has been compared. */
export function registerModelPanels(context: vscode.ExtensionContext, hub: SessionHub): { dispose(): void }[] {
  const extension = context.extensionUri;
  const sessions = new CurrentSession(hub);
  const page = (command: string, name: PageName, title: string) => {
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
    ...page(COMMANDS.memory, "memory", vscode.l10n.t("Chip Memory")),
    ...page(COMMANDS.graph, "graph", vscode.l10n.t("Graph")),
    ...page(COMMANDS.timeline, "timeline", vscode.l10n.t("Timeline")),
    ...page(COMMANDS.table, "compare", vscode.l10n.t("Compare")),
    ...registerComparePanel(sessions),
    ...registerReference(context),
  ];
}
