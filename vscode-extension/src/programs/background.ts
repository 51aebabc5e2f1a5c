import * as vscode from "vscode";
import type { Death } from "../adapter/process";
import { nameOf, staticUri, type ModelReference, type Program, type Source } from "./program";

interface Message {
  readonly type: string;
  readonly event?: string;
  readonly request_seq?: number;
  readonly success?: boolean;
  readonly message?: string;
  readonly body?: unknown;
}

/** The error of a refused request, as the Debug Adapter Protocol has it. */
interface Refusal {
  readonly error?: { readonly format?: string; readonly variables?: Readonly<Record<string, string>> };
}

interface Waiting {
  readonly resolve: (body: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Starts an adapter; `onDeath`: called where it ends by itself. */
type Start = (onDeath: (death: Death) => void) => vscode.DebugAdapter;

let started = 0;

/**
 * A model in an adapter of its own that stands before its first command and never runs: the views of a session ask it
 * the same questions.
 */
export class BackgroundProgram implements Program {
  readonly id = `background ${String(++started)}`;
  readonly name: string;
  readonly session = undefined;
  private readonly adapter: vscode.DebugAdapter;
  private readonly waiting = new Map<number, Waiting>();
  private seq = 0;
  private stopped: Waiting | undefined;

  /** Resolves when the model is loaded; rejects with what the adapter says against it. `onEnd`: it cannot be asked. */
  static async load(start: Start, model: ModelReference, onEnd: () => void): Promise<BackgroundProgram> {
    const program = new BackgroundProgram(start, model, onEnd);
    try {
      await program.launch();
      return program;
    } catch (error) {
      program.dispose();
      throw error;
    }
  }

  private constructor(
    start: Start,
    readonly model: ModelReference,
    onEnd: () => void,
  ) {
    this.name = nameOf(model);
    this.adapter = start(({ how, lastWord }) => {
      const error = new Error(vscode.l10n.t("the debug adapter has ended ({0}). {1}", how, lastWord).trim());
      this.stopped?.reject(error);
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
      onEnd();
    });
    this.adapter.onDidSendMessage((message) => {
      this.receive(message as unknown as Message);
    });
  }

  dispose(): void {
    this.adapter.dispose();
  }

  customRequest(name: string, rest?: unknown): Promise<unknown> {
    const seq = ++this.seq;
    return new Promise((resolve, reject) => {
      this.waiting.set(seq, { resolve, reject });
      const message = { seq, type: "request", command: name, arguments: rest ?? {} };
      this.adapter.handleMessage(message);
    });
  }

  uriOf(source: Source): vscode.Uri {
    return staticUri(this.model, source);
  }

  private async launch(): Promise<void> {
    const stopped = new Promise((resolve, reject: (error: Error) => void) => {
      this.stopped = { resolve, reject };
    });
    stopped.catch(() => undefined); // reported by the launch where it is that which fails
    await this.customRequest("initialize", { adapterID: "tdb", linesStartAt1: true, columnsStartAt1: true });
    const { program, net, stage } = this.model;
    await this.customRequest("launch", {
      program,
      stopOnEntry: true,
      ...(net !== undefined && { net }),
      ...(stage !== undefined && { stage }),
    });
    await stopped;
    this.stopped = undefined;
  }

  private receive({ type, event, request_seq, success, message, body }: Message): void {
    if (type === "event") {
      // Breakpoints are set here: there are none.
      if (event === "initialized") void this.customRequest("configurationDone").catch(() => undefined);
      if (event === "stopped") this.stopped?.resolve(undefined);
      if (event === "terminated")
        this.stopped?.reject(new Error(vscode.l10n.t("this model has no commands to look at")));
      return;
    }
    if (type !== "response" || request_seq === undefined) return;
    const waiting = this.waiting.get(request_seq);
    this.waiting.delete(request_seq);
    if (success === true) waiting?.resolve(body);
    else waiting?.reject(new Error(reason(body as Refusal | undefined) ?? message));
  }
}

/** The text of a refusal, with its variables filled in. */
function reason(refusal: Refusal | undefined): string | undefined {
  const { format, variables } = refusal?.error ?? {};
  return format?.replace(/\{(\w+)\}/g, (hole, name: string) => variables?.[name] ?? hole);
}
