import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Installation } from "../adapter/installation";
import { LANGUAGES, SETTINGS } from "../contributions";
import type { Problems } from "../diagnostics/problems";
import type { Results } from "../protocol/generated";
import { Debounce, type SessionHub } from "../sessions/hub";
import { request } from "../sessions/requests";
import { NOTIFICATIONS } from "./notifications";
import { resultsIn, verdictsOf } from "./verdicts";

/** The compiler's last word, which compiled models come with (other .mlir files have other servers), and disassembly. */
const TEXTS = [
  { language: LANGUAGES.mlir, scheme: "file", pattern: "**/*final.mlir" },
  { language: LANGUAGES.asm, scheme: "file" },
  { language: LANGUAGES.asm, scheme: "debug" },
];

/** Waits this long for further stops: holding down the key that steps makes many. */
const QUIET_MILLISECONDS = 80;

/** Start the language server when the first of its texts is opened. */
export function registerLanguageClient(
  hub: SessionHub,
  problems: Problems,
  installation: Installation,
): { dispose(): unknown }[] {
  let client: Promise<LanguageClient | undefined> | undefined;
  const look = (document: vscode.TextDocument) => {
    if (client === undefined && vscode.languages.match(TEXTS, document) > 0 && isWanted(document.uri))
      client = start(document.uri, problems, installation);
  };
  const lookAtAll = () => {
    vscode.workspace.textDocuments.forEach(look);
  };
  const judge = (results: Results) => {
    if (results.path === null) return;
    const uri = vscode.Uri.file(results.path).toString();
    void client?.then((running) =>
      running?.sendNotification(NOTIFICATIONS.verdicts, { uri, verdicts: verdictsOf(results) }),
    );
  };
  /** Of the text in which the program stands: its op has a lens. */
  let current: string | undefined;
  const stand = (uri: string | undefined, line: number | null) => {
    const left = current !== uri ? current : undefined;
    current = uri;
    void client?.then(async (running) => {
      if (left !== undefined) await running?.sendNotification(NOTIFICATIONS.current, { uri: left, line: null });
      if (uri !== undefined) await running?.sendNotification(NOTIFICATIONS.current, { uri, line });
    });
  };
  const standing = new Debounce(hub, QUIET_MILLISECONDS, (session) => {
    placeOf(session).then(
      (place) => {
        stand(place?.uri, place?.line ?? null);
      },
      () => undefined, // over, or running again
    );
  });
  lookAtAll();
  return [
    standing,
    hub.onStopped((session) => {
      standing.ask(session);
    }),
    hub.onEnded(() => {
      stand(undefined, null);
    }),
    vscode.workspace.onDidOpenTextDocument(look),
    vscode.workspace.onDidGrantWorkspaceTrust(lookAtAll),
    // What could not start may be able to after a repair.
    installation.onDidChange(() => {
      const before = client;
      void before?.then((running) => {
        if (running !== undefined || client !== before) return;
        client = undefined;
        lookAtAll();
      });
    }),
    // Whichever view asks the adapter for the results, the verdicts go above the ops, too.
    hub.onMessage(({ message }) => {
      const results = resultsIn(message);
      if (results !== undefined) judge(results);
    }),
    new vscode.Disposable(() => void client?.then((running) => running?.stop())),
  ];
}

/** The file and line of the op at which a session stands: several nets have a file each. */
async function placeOf(session: vscode.DebugSession): Promise<{ uri: string; line: number } | undefined> {
  const [first] = (await request(session, "tdb/moment", {})).lines;
  if (first === undefined) return undefined;
  const { source, line } = await request(session, "tdb/moment", { line: first });
  const path = source?.path;
  return typeof path === "string" ? { uri: vscode.Uri.file(path).toString(), line: line ?? first } : undefined;
}

/** The client is loaded when it is needed: it is most of the extension, and debugging does without. */
async function start(
  uri: vscode.Uri,
  problems: Problems,
  installation: Installation,
): Promise<LanguageClient | undefined> {
  const { startClient } = await import("./client.js");
  return startClient(uri, TEXTS, problems, installation);
}

/** A workspace can choose the interpreter: opening a file must not start a program of an untrusted one. */
function isWanted(scope: vscode.Uri): boolean {
  return (
    vscode.workspace.isTrusted &&
    vscode.workspace.getConfiguration(SETTINGS.language, scope).get(SETTINGS.enabled, true)
  );
}
