import { spawn, type ChildProcess } from "node:child_process";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { log } from "../log";
import type { ServerCommand } from "./find";
import { Framing } from "./framing";
import { lastLine } from "../protocol/errors";
import { Unanswered, type Message } from "../protocol/unanswered";

/** How long the adapter may take to end by itself after its input has been closed. */
const GRACE_MILLISECONDS = 3_000;

/** Of a message that cannot be read, as much as the log needs. */
const LOGGED_CHARACTERS = 500;

/** How an adapter ended that nobody had asked to. */
export interface Death {
  /** "exit code 1", "SIGSEGV", or why it could not be started. */
  readonly how: string;
  /** The last line of its complaints, or "". */
  readonly lastWord: string;
  /** Has it ever answered? */
  readonly wasAlive: boolean;
}

/**
 * A debug adapter in a process of its own.
 *
 * VS Code can start one by itself, but drops what the process says on standard error, and of one that ends it only
 * says that it ended.
 */
export class AdapterProcess extends vscode.Disposable implements vscode.DebugAdapter {
  private readonly messages = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  readonly onDidSendMessage = this.messages.event;
  private readonly process: ChildProcess;
  private readonly unanswered = new Unanswered();
  private said = "";
  private seq = 1_000_000_000;
  private wasAlive = false;
  private isEnding = false;
  private hasEnded = false;

  constructor(
    { executable, args }: ServerCommand,
    private readonly onDeath: (death: Death) => void,
  ) {
    super(() => {
      this.stop();
    });
    log().info(`starts ${[executable, ...args].join(" ")}`);
    // Not in the workspace: Python looks for modules in its working directory.
    const started = spawn(executable, args, { cwd: homedir(), windowsHide: true });
    this.process = started;
    const framing = new Framing((text) => {
      this.receive(text);
    });
    started.stdout.on("data", (bytes: Buffer) => {
      framing.add(bytes);
    });
    started.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.said = (this.said + text).slice(-10_000);
      for (const line of text.split("\n").filter((line) => line.trim() !== "")) log().warn(`adapter: ${line}`);
    });
    // A write after the end is reported by "close".
    started.stdin.on("error", () => undefined);
    started.once("error", (error) => {
      this.end(error.message);
    });
    started.once("close", (code, signal) => {
      this.end(signal ?? vscode.l10n.t("exit code {0}", String(code)));
    });
  }

  handleMessage(message: vscode.DebugProtocolMessage): void {
    const sent = message as Message;
    if (sent.command === "disconnect") this.isEnding = true;
    this.unanswered.sent(sent);
    if (this.hasEnded) {
      this.answerForTheDead();
      return;
    }
    const body = Buffer.from(JSON.stringify(message));
    this.process.stdin?.write(Buffer.concat([Buffer.from(`Content-Length: ${String(body.length)}\r\n\r\n`), body]));
  }

  private stop(): void {
    this.isEnding = true;
    this.process.stdin?.end();
    setTimeout(() => {
      if (!this.hasEnded) this.process.kill();
    }, GRACE_MILLISECONDS).unref();
  }

  private receive(text: string): void {
    if (this.hasEnded) return;
    const message = messageOf(text);
    if (message === undefined) {
      log().error(`the adapter has sent what is no message: ${text.slice(0, LOGGED_CHARACTERS)}`);
      this.process.kill();
      this.end(vscode.l10n.t("it has sent a message that is not valid JSON"));
      return;
    }
    this.wasAlive = true;
    this.unanswered.answered(message);
    this.messages.fire(message);
  }

  private end(how: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    log().info(`the adapter has ended: ${how}`);
    const expected = this.isEnding;
    this.answerForTheDead();
    this.send({ type: "event", event: "terminated" });
    if (!expected) this.onDeath({ how, lastWord: lastLine(this.said), wasAlive: this.wasAlive });
  }

  private answerForTheDead(): void {
    for (const response of this.unanswered.close()) this.send(response);
  }

  private send(message: object): void {
    this.messages.fire({ seq: this.seq++, ...message });
  }
}

/** Undefined if the text is no JSON object. */
function messageOf(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}
