import * as vscode from "vscode";
import { DEBUG_TYPE } from "../contributions";

/** A message from the adapter, as far as features look at it; see the Debug Adapter Protocol. */
export interface AdapterMessage {
  readonly type?: string;
  /** Of an event. */
  readonly event?: string;
  /** Of a response: the request that it answers. */
  readonly command?: string;
  readonly success?: boolean;
  readonly body?: unknown;
}

/** Events of the debug sessions of this extension, from the one tracker of their messages. */
export class SessionHub implements vscode.Disposable {
  private readonly stopped = new vscode.EventEmitter<vscode.DebugSession>();
  private readonly edited = new vscode.EventEmitter<vscode.DebugSession>();
  private readonly ended = new vscode.EventEmitter<vscode.DebugSession>();
  private readonly received = new vscode.EventEmitter<{ session: vscode.DebugSession; message: AdapterMessage }>();
  private readonly disposables: { dispose(): void }[];

  /** The program has come to rest. */
  readonly onStopped = this.stopped.event;
  /** Memory has been edited, without a stop: variables that are shown are out of date. */
  readonly onEdited = this.edited.event;
  /** Fires once for each session: its program has ended, it is being stopped, or its adapter has exited. */
  readonly onEnded = this.ended.event;
  /** Every event and response of the adapter. */
  readonly onMessage = this.received.event;

  constructor() {
    this.disposables = [
      this.stopped,
      this.edited,
      this.ended,
      this.received,
      vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, {
        createDebugAdapterTracker: (session) => this.tracker(session),
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private tracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      this.ended.fire(session);
    };
    return {
      onDidSendMessage: (message: AdapterMessage) => {
        this.received.fire({ session, message });
        if (message.type !== "event") return;
        if (message.event === "stopped") this.stopped.fire(session);
        if (message.event === "invalidated" || message.event === "memory") this.edited.fire(session);
        if (message.event === "terminated") end();
      },
      onWillStopSession: end,
      onExit: end,
    };
  }
}

/** Runs something for a session when it has not been asked to for a while, and never after the session's end. */
export class Debounce implements vscode.Disposable {
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly ended: vscode.Disposable;

  constructor(
    hub: SessionHub,
    private readonly milliseconds: number,
    private readonly run: (session: vscode.DebugSession) => void,
  ) {
    this.ended = hub.onEnded((session) => {
      this.cancel(session.id);
    });
  }

  dispose(): void {
    this.ended.dispose();
    for (const id of this.timers.keys()) this.cancel(id);
  }

  ask(session: vscode.DebugSession): void {
    this.cancel(session.id);
    const timer = setTimeout(() => {
      this.timers.delete(session.id);
      this.run(session);
    }, this.milliseconds);
    this.timers.set(session.id, timer);
  }

  private cancel(id: string): void {
    clearTimeout(this.timers.get(id));
    this.timers.delete(id);
  }
}
