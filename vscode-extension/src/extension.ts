import type * as vscode from "vscode";
import { registerAdapter } from "./adapter/factory";
import { registerCommands } from "./commands";
import { registerConfigurations } from "./configuration/provider";
import { registerHovers } from "./hover/provider";
import { registerLanguageClient } from "./language/client";
import { registerTensorViews } from "./tensor/views";

export function activate(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    ...registerAdapter(),
    ...registerConfigurations(),
    ...registerCommands(),
    ...registerHovers(),
    ...registerTensorViews(context),
    ...registerLanguageClient(),
  );
}
