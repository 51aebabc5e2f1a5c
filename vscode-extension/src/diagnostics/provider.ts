import * as vscode from "vscode";
import { DEBUG_TYPE } from "../contributions";
import type { CommandPlace, Finding } from "../protocol/generated";
import { uriOf } from "../programs/uri";
import { Debounce, type SessionHub } from "../sessions/hub";
import { request } from "../sessions/requests";
import { byFile, mayBringFindings } from "./findings";
import type { Problems } from "./problems";

/** Waits this long for further messages: the Variables pane asks many things at once. */
const QUIET_MILLISECONDS = 200;

/** Shows what sanitizers find as problems of final.mlir, until the next session begins. */
export function registerDiagnostics(hub: SessionHub, problems: Problems): { dispose(): void }[] {
  const quiet = new Debounce(hub, QUIET_MILLISECONDS, (session) => void show(session, problems));
  return [
    quiet,
    vscode.debug.onDidStartDebugSession((session) => {
      if (session.type === DEBUG_TYPE) problems.sessionSays(new Map());
    }),
    hub.onMessage(({ session, message }) => {
      if (mayBringFindings(message)) quiet.ask(session);
    }),
  ];
}

async function show(session: vscode.DebugSession, problems: Problems): Promise<void> {
  let findings: readonly Finding[];
  try {
    ({ findings } = await request(session, "tdb/findings"));
  } catch {
    return; // the session is over, or its adapter is older than this extension
  }
  const found = [...byFile(findings)].map(([path, all]): [string, vscode.Diagnostic[]] => {
    const uri = uriOf(path);
    return [uri.toString(), all.map((finding) => diagnostic(uri, finding))];
  });
  problems.sessionSays(new Map(found));
}

function diagnostic(uri: vscode.Uri, finding: Finding): vscode.Diagnostic {
  const severity = finding.severity === "error" ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning;
  const made = new vscode.Diagnostic(wholeLine(finding.command), finding.text, severity);
  made.source = DEBUG_TYPE;
  made.code = finding.sanitizer;
  made.relatedInformation = finding.related
    .filter((other) => other.line > 0)
    .map(
      (other) =>
        new vscode.DiagnosticRelatedInformation(
          new vscode.Location(uri, wholeLine(other)),
          `${other.token} ${other.name}`,
        ),
    );
  return made;
}

function wholeLine(place: CommandPlace): vscode.Range {
  return new vscode.Range(place.line - 1, 0, place.line - 1, Number.MAX_SAFE_INTEGER);
}
