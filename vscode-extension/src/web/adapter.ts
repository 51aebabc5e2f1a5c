import * as vscode from "vscode";
import type { Death } from "../adapter/process";
import { log } from "../log";
import { textOf } from "../protocol/errors";
import { Unanswered, type Message } from "../protocol/unanswered";
import type { FromWorker, ToWorker } from "../protocol/worker";
import { uriOf } from "../programs/uri";
import { engineOf } from "./engine";
import { Mount } from "./files";

/** As far as this file uses it. */
declare class Worker {
  onmessage: ((event: { readonly data: FromWorker }) => void) | null;
  onerror: ((event: { readonly message: string }) => void) | null;
  constructor(url: string);
  postMessage(message: ToWorker): void;
  terminate(): void;
}

interface Request extends Message {
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** The debug adapter in a worker of the browser: the adapter's own program, in Python that is compiled to WebAssembly. */
export class WorkerAdapter extends vscode.Disposable implements vscode.DebugAdapter {
  private readonly messages = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  readonly onDidSendMessage = this.messages.event;
  private readonly mount: Mount;
  private readonly unanswered = new Unanswered();
  private readonly worker: Promise<Worker>;
  /** What is sent goes out in order, also where files are read first. */
  private sending: Promise<unknown>;
  private hasEnded = false;
  private wasAlive = false;
  private seq = 1_000_000_000;

  /** `program`: of the model, the text of a URI. */
  constructor(
    extension: vscode.Uri,
    program: string,
    private readonly onDeath: (death: Death) => void,
  ) {
    super(() => {
      this.stop();
    });
    this.mount = new Mount(uriOf(program));
    this.worker = this.start(extension);
    this.sending = this.worker;
    this.worker.catch((error: unknown) => {
      this.end(textOf(error));
    });
  }

  handleMessage(message: vscode.DebugProtocolMessage): void {
    const sent = message as Request;
    this.unanswered.sent(sent);
    if (this.hasEnded) {
      this.answerForTheDead();
      return;
    }
    this.sending = this.sending
      .then(() => this.send(sent))
      .catch((error: unknown) => {
        if (!this.hasEnded) this.refuse(sent, textOf(error)); // else it has been answered
      });
  }

  private async start(extension: vscode.Uri): Promise<Worker> {
    const { program, ...engine } = await engineOf(extension);
    const worker = new Worker(program);
    worker.onmessage = ({ data }) => {
      this.receive(data);
    };
    worker.onerror = ({ message }) => {
      this.end(message);
    };
    worker.postMessage(engine);
    return worker;
  }

  private async send(message: Request): Promise<void> {
    const worker = await this.worker;
    if (message.command === "attach") throw new Error(vscode.l10n.t("a browser has no ports to attach to."));
    if (message.command === "launch") {
      worker.postMessage({ kind: "write", files: await this.mount.contents(message.arguments ?? {}) });
    }
    worker.postMessage({ kind: "message", text: this.mount.toAdapter(message) });
  }

  private receive(data: FromWorker): void {
    switch (data.kind) {
      case "message": {
        const message = this.mount.fromAdapter(data.text) as Message;
        this.wasAlive = true;
        this.unanswered.answered(message);
        this.messages.fire(message);
        return;
      }
      case "progress":
        log().info(`engine: ${data.text}`);
        return;
      case "failed":
        this.end(data.text);
        return;
      case "over":
        this.stop();
    }
  }

  private stop(): void {
    this.hasEnded = true;
    void this.worker.then(
      (worker) => {
        worker.terminate();
      },
      () => undefined,
    );
  }

  /** It has ended by itself. */
  private end(how: string): void {
    if (this.hasEnded) return;
    log().error(`the adapter has ended: ${how}`);
    this.stop();
    this.answerForTheDead();
    this.fire({ type: "event", event: "terminated" });
    this.onDeath({ how, lastWord: "", wasAlive: this.wasAlive });
  }

  private answerForTheDead(): void {
    for (const response of this.unanswered.close()) this.fire(response);
  }

  /** Answer a request that could not be sent. */
  private refuse({ seq, command }: Message, why: string): void {
    this.unanswered.answered({ request_seq: seq });
    const showUser = command === "launch" || command === "attach";
    const body = { error: { id: 1, format: why, showUser } };
    this.fire({ type: "response", request_seq: seq, command, success: false, message: why, body });
    if (showUser) this.fire({ type: "event", event: "terminated" });
  }

  private fire(message: object): void {
    this.messages.fire({ seq: this.seq++, ...message });
  }
}
