import type * as vscode from "vscode";
import { registerAdapter } from "./adapter/factory";
import { registerCommands } from "./commands";
import { registerConfigurations } from "./configuration/provider";
import { Problems } from "./diagnostics/problems";
import { registerDiagnostics } from "./diagnostics/provider";
import { registerNumbers } from "./hover/numbers";
import { registerHovers } from "./hover/provider";
import { registerLanguageClient } from "./language/provider";
import { registerStart } from "./start/commands";
import { registerModelEditor } from "./start/editor";
import { registerTensorViews } from "./tensor/views";
import { registerTime } from "./time/views";
import { registerViews } from "./views/register";

export function activate(context: vscode.ExtensionContext): void {
  const problems = new Problems();
  context.subscriptions.push(
    problems,
    ...registerAdapter(),
    ...registerConfigurations(),
    ...registerCommands(),
    ...registerHovers(),
    ...registerNumbers(),
    ...registerTensorViews(context),
    ...registerTime(context),
    ...registerStart(context),
    ...registerModelEditor(context),
    ...registerLanguageClient(problems),
    ...registerDiagnostics(problems),
    ...registerViews(context.extensionUri),
  );
}
