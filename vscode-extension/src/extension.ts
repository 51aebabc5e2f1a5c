import type * as vscode from "vscode";
import { registerAdapter } from "./adapter/factory";
import { registerConfigurations } from "./configuration/provider";
import { Problems } from "./diagnostics/problems";
import { registerDiagnostics } from "./diagnostics/provider";
import { registerNumbers } from "./hover/numbers";
import { registerHovers } from "./hover/provider";
import { registerLanguageClient } from "./language/provider";
import { registerStartCommands } from "./start/commands";
import { registerModelEditor } from "./panels/bmodelEditor";
import { registerTensorViews } from "./panels/tensor/command";
import { registerTime } from "./panels/timeSlider";
import { registerModelPanels } from "./panels/modelPanels";

export function activate(context: vscode.ExtensionContext): void {
  const problems = new Problems();
  context.subscriptions.push(
    problems,
    ...registerAdapter(),
    ...registerConfigurations(),
    ...registerHovers(),
    ...registerNumbers(),
    ...registerTensorViews(context),
    ...registerTime(context),
    ...registerStartCommands(context),
    ...registerModelEditor(context),
    ...registerLanguageClient(problems),
    ...registerDiagnostics(problems),
    ...registerModelPanels(context.extensionUri),
  );
}
