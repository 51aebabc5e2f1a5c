import * as vscode from "vscode";
import { Debounce, type SessionHub } from "./hub";

/** Waits this long for further events: a stop is often followed by another one, or by edits. */
const QUIET_MILLISECONDS = 80;

/** The session that the views of the model show: of those that are not over the one that has stopped last. */
export class CurrentSession implements vscode.Disposable {
  private readonly stopped = new vscode.EventEmitter<vscode.DebugSession>();
  private readonly changed = new vscode.EventEmitter<vscode.DebugSession | undefined>();
  private readonly disposables: { dispose(): void }[];
  /** The sessions whose programs have stopped, the latest last. */
  private live: readonly vscode.DebugSession[] = [];
  private session: vscode.DebugSession | undefined;

  /** The program has come to rest, or its memory has been edited. */
  readonly onDidStop = this.stopped.event;
  /** Another session, or none any more. */
  readonly onDidChange = this.changed.event;

  constructor(hub: SessionHub) {
    const quiet = new Debounce(hub, QUIET_MILLISECONDS, (session) => {
      this.live = [...this.live.filter((other) => other !== session), session];
      this.follow(session);
      this.stopped.fire(session);
    });
    const ask = (session: vscode.DebugSession) => {
      quiet.ask(session);
    };
    this.disposables = [
      this.stopped,
      this.changed,
      quiet,
      hub.onStopped(ask),
      hub.onEdited(ask),
      vscode.debug.onDidTerminateDebugSession((session) => {
        this.live = this.live.filter((other) => other !== session);
        if (session === this.session) this.follow(this.live.at(-1));
      }),
    ];
  }

  get current(): vscode.DebugSession | undefined {
    return this.session;
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private follow(session: vscode.DebugSession | undefined): void {
    if (session === this.session) return;
    this.session = session;
    this.changed.fire(session);
  }
}
