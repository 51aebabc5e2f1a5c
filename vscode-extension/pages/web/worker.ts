/** The worker of a session in a browser: Python with the adapter. It talks to nobody but the extension. */
import type { FromWorker, StartWorker, ToWorker } from "../../src/protocol/worker";
import { lastLine, load, type Python } from "../share/python";

/** A function of Python's. With `callPromising` it can wait for a promise, where the browser allows it. */
interface Feed {
  (text: string): boolean;
  callPromising(text: string): Promise<boolean>;
}

const SESSION = `
from pyodide.ffi import can_run_sync, run_sync
from tdb_dap.adapter.worker import WorkerSession

def _let_arrive():
    if can_run_sync():
        run_sync(arrival())

feed = WorkerSession(post, _let_arrive).feed
`;

const reply = (message: FromWorker): void => {
  self.postMessage(message);
};

/** Resolves when messages that have arrived are delivered. */
function arrival(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

async function start({ files, wheels }: StartWorker): Promise<Python> {
  const python = await load({ base: "file:///engine/", files, wheels }, (text) => {
    reply({ kind: "progress", text });
  });
  python.globals.set("arrival", arrival);
  python.globals.set("post", (text: string) => {
    reply({ kind: "message", text });
  });
  python.runPython(SESSION);
  return python;
}

let started: Promise<Python> | undefined;

async function take(message: ToWorker): Promise<void> {
  if (message.kind === "start") {
    started = start(message);
    await started;
    return;
  }
  const python = await started;
  if (python === undefined) return;
  if (message.kind === "write") {
    for (const [path, content] of Object.entries(message.files)) {
      python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
      python.FS.writeFile(path, content);
    }
    return;
  }
  const goesOn = await (python.globals.get("feed") as Feed).callPromising(message.text);
  if (!goesOn) reply({ kind: "over" });
}

self.addEventListener("message", (event: MessageEvent<ToWorker>) => {
  take(event.data).catch((error: unknown) => {
    reply({ kind: "failed", text: lastLine(error) });
  });
});
