import type * as vscode from "vscode";
import { registerDiagnosis } from "./adapter/diagnosis";
import { registerAgent } from "./agent/provider";
import { registerAdapter } from "./adapter/factory";
import { Installation } from "./adapter/installation";
import { registerStatus } from "./adapter/status";
import { registerData } from "./compare/data";
import { registerConfigurations } from "./configuration/provider";
import { registerContainer } from "./container/register";
import { Problems } from "./diagnostics/problems";
import { registerAhead } from "./diagnostics/ahead";
import { registerFindingLens } from "./diagnostics/lens";
import { registerDiagnostics } from "./diagnostics/provider";
import { registerInlineValues } from "./inline/provider";
import { registerNumbers } from "./hover/numbers";
import { registerHovers } from "./hover/provider";
import { registerLanguageClient } from "./language/provider";
import { log } from "./log";
import { registerAsking } from "./panels/asking";
import { registerRoom } from "./panels/room";
import { registerTime } from "./panels/timeSlider";
import { backgroundPool } from "./programs/processes";
import { registerConceal } from "./reading/conceal";
import { registerRecordingCommands } from "./recording/commands";
import { registerRecordTasks } from "./recording/task";
import { CurrentSession } from "./sessions/current";
import { SessionHub } from "./sessions/hub";
import { registerInSight } from "./sessions/inSight";
import { registerReadOnly } from "./sessions/readOnly";
import { registerStartCommands } from "./start/commands";

export function activate(context: vscode.ExtensionContext): void {
  const problems = new Problems();
  const hub = new SessionHub();
  const installation = new Installation(context);
  const sessions = new CurrentSession(hub);
  const pool = backgroundPool(installation);
  context.subscriptions.push(
    problems,
    hub,
    installation,
    log(),
    ...registerStatus(installation),
    ...registerAdapter(installation),
    ...registerDiagnosis(installation),
    ...registerAgent(installation),
    ...registerConfigurations(installation),
    ...registerStartCommands(context),
    ...registerRecordingCommands(context),
    ...registerRecordTasks(installation),
    ...registerInSight(hub),
    ...registerRoom(hub),
    ...registerHovers(),
    ...registerInlineValues(hub),
    ...registerReadOnly(hub),
    ...registerNumbers(),
    ...registerTime(context, hub),
    ...registerLanguageClient(hub, problems, installation),
    ...registerDiagnostics(hub, problems),
    ...registerFindingLens(problems, sessions),
    ...registerAhead(problems),
    ...registerConceal(context),
    sessions,
    pool,
    ...registerContainer(context, hub, sessions, pool, installation),
    ...registerData(context),
    ...registerAsking(context, sessions),
  );
}
