import type * as vscode from "vscode";
import { registerAdapter } from "./adapter/factory";
import { registerCommands } from "./commands";
import { registerConfigurations } from "./configuration/provider";
import { registerDiagnostics } from "./diagnostics/provider";
import { registerHovers } from "./hover/provider";
import { registerViews } from "./views/register";

export function activate(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    ...registerAdapter(),
    ...registerConfigurations(),
    ...registerCommands(),
    ...registerHovers(),
    ...registerDiagnostics(),
    ...registerViews(context.extensionUri),
  );
}
