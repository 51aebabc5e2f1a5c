import * as vscode from "vscode";
import { DEBUG_TYPE } from "../contributions";

/** Waits this long for further events: a stop is often followed by another one, or by edits. */
const QUIET_MILLISECONDS = 80;

/** The session that the views show: the one that has started or stopped last. */
export class Sessions implements vscode.Disposable {
  private readonly stopped = new vscode.EventEmitter<vscode.DebugSession>();
  private readonly changed = new vscode.EventEmitter<vscode.DebugSession | undefined>();
  private readonly disposables: { dispose(): void }[];
  private session: vscode.DebugSession | undefined;

  /** The program has come to rest, or its memory has been edited. */
  readonly onDidStop = this.stopped.event;
  /** Another session, or none any more. */
  readonly onDidChange = this.changed.event;

  constructor() {
    this.disposables = [
      this.stopped,
      this.changed,
      vscode.debug.onDidTerminateDebugSession((session) => {
        if (session === this.session) this.follow(undefined);
      }),
      vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, {
        createDebugAdapterTracker: (session) => this.tracker(session),
      }),
    ];
  }

  get current(): vscode.DebugSession | undefined {
    return this.session;
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private tracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    let timer: NodeJS.Timeout | undefined;
    return {
      onDidSendMessage: (message: { type?: string; event?: string }) => {
        if (message.type !== "event" || (message.event !== "stopped" && message.event !== "invalidated")) return;
        clearTimeout(timer);
        timer = setTimeout(() => {
          this.follow(session);
          this.stopped.fire(session);
        }, QUIET_MILLISECONDS);
      },
      onWillStopSession: () => {
        clearTimeout(timer);
      },
    };
  }

  private follow(session: vscode.DebugSession | undefined): void {
    if (session === this.session) return;
    this.session = session;
    this.changed.fire(session);
  }
}
