/** The extension in a browser: sessions of virtual workspaces, debugged in a worker. */
import * as vscode from "vscode";
import type { SetUp } from "../adapter/installation";
import { registerContainer } from "../container/register";
import { Problems } from "../diagnostics/problems";
import { registerDiagnostics } from "../diagnostics/provider";
import { registerNumbers } from "../hover/numbers";
import { registerHovers } from "../hover/provider";
import { registerInlineValues } from "../inline/provider";
import { log } from "../log";
import { registerRoom } from "../panels/room";
import { registerTime } from "../panels/timeSlider";
import { registerConceal } from "../reading/conceal";
import { CurrentSession } from "../sessions/current";
import { SessionHub } from "../sessions/hub";
import { registerInSight } from "../sessions/inSight";
import { registerStartCommands } from "./commands";
import { registerSessions, workerPool } from "./sessions";
import { refusal, registerUnavailable } from "./unavailable";

export function activate(context: vscode.ExtensionContext): void {
  const problems = new Problems();
  const hub = new SessionHub();
  const sessions = new CurrentSession(hub);
  const pool = workerPool(context.extensionUri);
  const changed = new vscode.EventEmitter<void>();
  const setUp: SetUp = { onDidChange: changed.event, setUp: () => refusal("tdb-dap") };
  context.subscriptions.push(
    problems,
    hub,
    sessions,
    pool,
    changed,
    log(),
    ...registerSessions(context.extensionUri),
    ...registerStartCommands(),
    ...registerUnavailable(context.extension),
    ...registerInSight(hub),
    ...registerRoom(hub),
    ...registerHovers(),
    ...registerInlineValues(hub),
    ...registerConceal(context),
    ...registerNumbers(),
    ...registerTime(context, hub),
    ...registerDiagnostics(hub, problems),
    ...registerContainer(context, hub, sessions, pool, setUp),
  );
}
