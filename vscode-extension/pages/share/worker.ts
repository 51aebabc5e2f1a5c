/** The worker of a shared page: Python with the engine, which answers questions. It talks to nobody but its page. */
import type { Question, Reply, Start } from "./messages";
import { lastLine, load, read, type Python } from "./python";

const reply = (message: Reply): void => {
  self.postMessage(message);
};

let python: Python | null = null;

async function start(engine: Start): Promise<void> {
  const progress = (text: string): void => {
    reply({ kind: "progress", text });
  };
  const loaded = await load(engine, progress);
  progress("opening the model");
  loaded.unpackArchive(await read(engine, "data.zip"), "zip", { extractDir: "/shared" });
  loaded.runPython('from tdb_dap.tools.share.engine import Shared\nshared = Shared("/shared")');
  python = loaded;
  reply({ kind: "ready" });
}

function answer({ id, question }: Question): void {
  if (python === null) return;
  python.globals.set("question", question);
  reply({ kind: "answer", id, answer: String(python.runPython("shared.ask(question)")) });
}

self.addEventListener("message", (event: MessageEvent<Start | Question>) => {
  const { data } = event;
  if ("question" in data) {
    answer(data);
    return;
  }
  start(data).catch((error: unknown) => {
    reply({ kind: "failed", text: lastLine(error) });
  });
});
