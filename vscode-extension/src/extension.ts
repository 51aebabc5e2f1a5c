import type * as vscode from "vscode";
import { registerAdapter } from "./adapter/factory";
import { registerConfigurations } from "./configuration/provider";
import { Problems } from "./diagnostics/problems";
import { registerDiagnostics } from "./diagnostics/provider";
import { registerNumbers } from "./hover/numbers";
import { registerHovers } from "./hover/provider";
import { registerLanguageClient } from "./language/provider";
import { registerModelEditor } from "./panels/bmodelEditor";
import { registerModelPanels } from "./panels/modelPanels";
import { registerTensorViews } from "./panels/tensor/command";
import { registerTime } from "./panels/timeSlider";
import { SessionHub } from "./sessions/hub";
import { registerStartCommands } from "./start/commands";

export function activate(context: vscode.ExtensionContext): void {
  const problems = new Problems();
  const hub = new SessionHub();
  context.subscriptions.push(
    problems,
    hub,
    ...registerAdapter(),
    ...registerConfigurations(),
    ...registerStartCommands(context),
    ...registerHovers(),
    ...registerNumbers(),
    ...registerTensorViews(context, hub),
    ...registerTime(context, hub),
    ...registerModelEditor(context),
    ...registerLanguageClient(hub, problems),
    ...registerDiagnostics(hub, problems),
    ...registerModelPanels(context.extensionUri, hub),
  );
}
