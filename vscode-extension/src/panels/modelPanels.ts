import * as vscode from "vscode";
import { ComparePanel, registerComparePanel } from "../compare/view";
import { COMMANDS } from "../contributions";
import type { CurrentProgram } from "../programs/current";
import type { ModelReference } from "../programs/program";
import type { ToModelPage } from "../protocol/messages";
import type { CurrentSession } from "../sessions/current";
import type { SessionHub } from "../sessions/hub";
import type { PageName } from "./frame";
import { ModelPanel } from "./modelPanel";
import { bytesOf } from "./tensor/command";
import { registerTraces, Traces } from "./traces";

/** Views of the model that is being debugged or looked at: chip memory, graph, timeline, traces, and what has been compared. */
export function registerModelPanels(
  context: vscode.ExtensionContext,
  hub: SessionHub,
  sessions: CurrentSession,
  programs: CurrentProgram,
): { dispose(): void }[] {
  const extension = context.extensionUri;
  const opening = (command: string, made: ModelPanel) => [
    made,
    // From a menu of a view the argument is that view's, and no model.
    vscode.commands.registerCommand(command, (model?: unknown) => made.show(isModel(model) ? model : undefined)),
  ];
  const page = (command: string, name: PageName, title: string) =>
    opening(command, new ModelPanel(name, title, extension, programs));
  const table: ModelPanel = new ModelPanel("compare", vscode.l10n.t("Compare"), extension, programs, () => {
    compared.tellPage();
  });
  const compared = new ComparePanel(sessions, hub, table);
  const trace: ModelPanel = new ModelPanel("trace", vscode.l10n.t("Trace"), extension, programs, () => {
    traces.tellPage();
  });
  const traces = new Traces(sessions, trace);
  const bytes = new BytesView(extension, programs);
  return [
    ...opening(COMMANDS.memory, bytes.panel),
    vscode.commands.registerCommand(COMMANDS.bytes, (from?: unknown) => bytes.show(from)),
    ...page(COMMANDS.graph, "graph", vscode.l10n.t("Graph")),
    ...page(COMMANDS.timeline, "timeline", vscode.l10n.t("Timeline")),
    ...opening(COMMANDS.table, table),
    ...page(COMMANDS.answer, "answer", vscode.l10n.t("Answer")),
    trace,
    ...registerTraces(traces),
    ...registerComparePanel(compared),
  ];
}

/** Chip memory, and the bytes of a tensor in it. */
class BytesView {
  readonly panel: ModelPanel;
  /** What the page is told when it is ready. */
  private wanted: ToModelPage | undefined;

  constructor(extension: vscode.Uri, programs: CurrentProgram) {
    this.panel = new ModelPanel("memory", vscode.l10n.t("Chip Memory"), extension, programs, () => {
      this.tellPage();
    });
  }

  async show(from: unknown): Promise<void> {
    const place = await bytesOf(from);
    if (place === undefined) return;
    this.wanted = { type: "bytes", ...place };
    const isThere = this.panel.isOpen;
    await this.panel.show();
    if (isThere) this.tellPage();
  }

  private tellPage(): void {
    if (this.wanted !== undefined) this.panel.send(this.wanted);
    this.wanted = undefined;
  }
}

function isModel(argument: unknown): argument is ModelReference {
  return typeof (argument as Partial<ModelReference> | undefined)?.program === "string";
}
