// The debug adapter as a child process, with a model stopped at its first command, for pages without an editor.
import { spawn } from "node:child_process";

const SEPARATOR = "\r\n\r\n";

export class Adapter {
  /** Launch `program` with `rest` of the launch configuration; resolves when it has stopped. */
  static async launch(python, program, rest = {}) {
    const adapter = new Adapter(spawn(python, ["-m", "tdb_dap.adapter"], { stdio: ["pipe", "pipe", "inherit"] }));
    await adapter.request("initialize", { adapterID: "tdb", linesStartAt1: true, columnsStartAt1: true, supportsProgressReporting: true });
    const initialized = adapter.event("initialized");
    const stopped = adapter.event("stopped");
    const launched = adapter.request("launch", { program, stopOnEntry: true, ...rest });
    await initialized;
    await adapter.request("configurationDone");
    await launched;
    await stopped;
    return adapter;
  }

  constructor(child) {
    this.child = child;
    this.waiting = new Map();
    this.listeners = new Map();
    this.sent = 0;
    let data = Buffer.alloc(0);
    child.stdout.on("data", (chunk) => {
      data = Buffer.concat([data, chunk]);
      for (;;) {
        const end = data.indexOf(SEPARATOR);
        if (end < 0) return;
        const start = end + SEPARATOR.length;
        const size = Number(/Content-Length: (\d+)/.exec(data.toString("utf8", 0, end))[1]);
        if (data.length < start + size) return;
        this.receive(JSON.parse(data.toString("utf8", start, start + size)));
        data = data.subarray(start + size);
      }
    });
  }

  receive(message) {
    if (message.type === "response") {
      const { resolve, reject } = this.waiting.get(message.request_seq);
      this.waiting.delete(message.request_seq);
      if (message.success) resolve(message.body ?? {});
      else reject(new Error(message.body?.error?.format ?? message.message));
    } else if (message.type === "event") {
      for (const listener of this.listeners.get(message.event) ?? []) listener(message.body ?? {});
    }
  }

  request(command, rest = {}) {
    const seq = ++this.sent;
    const text = JSON.stringify({ seq, type: "request", command, arguments: rest });
    this.child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}${SEPARATOR}${text}`);
    return new Promise((resolve, reject) => this.waiting.set(seq, { resolve, reject }));
  }

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  /** The body of the next event of this name. */
  event(name) {
    return new Promise((resolve) => this.on(name, resolve));
  }

  async close() {
    await this.request("disconnect", { terminateDebuggee: true }).catch(() => undefined);
    this.child.kill();
  }
}
