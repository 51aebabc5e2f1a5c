/** The worker of a shared page: Python with the engine, which answers questions. It talks to nobody but its page. */
import type { Question, Reply, Start } from "./messages";

interface Python {
  unpackArchive(content: Uint8Array, format: string, options: { extractDir: string }): void;
  runPython(code: string): unknown;
  readonly globals: { set(name: string, value: unknown): void };
}

interface Loader {
  loadPyodide(options: Readonly<Record<string, unknown>>): Promise<Python>;
}

const reply = (message: Reply): void => {
  self.postMessage(message);
};

let python: Python | null = null;

async function start({ base, files, wheels }: Start): Promise<void> {
  const urls = new Map<string, string>();
  const types: Record<string, string> = { mjs: "text/javascript", wasm: "application/wasm" };
  for (const [name, content] of Object.entries(files ?? {})) {
    const type = types[name.split(".").pop() ?? ""] ?? "application/octet-stream";
    urls.set(name, URL.createObjectURL(new Blob([content], { type })));
  }
  const place = (name: string): string => urls.get(name) ?? new URL(name, base).href;
  const read = async (name: string): Promise<Uint8Array> => {
    const own = files?.[name];
    if (own !== undefined) return new Uint8Array(own);
    const response = await fetch(place(name));
    if (!response.ok) throw new Error(`${name}: ${String(response.status)} ${response.statusText}`);
    return new Uint8Array(await response.arrayBuffer());
  };

  reply({ kind: "progress", text: "loading Python" });
  const loader = (await import(place("engine/pyodide.mjs"))) as Loader;
  const options: Record<string, unknown> = {
    indexURL: new URL("engine/", base).href,
    lockFileContents: new TextDecoder().decode(await read("engine/pyodide-lock.json")),
    stdLibURL: place("engine/python_stdlib.zip"),
  };
  if (files !== null) {
    const made = (await import(place("engine/pyodide.asm.mjs"))) as { default: unknown };
    options.createPyodideModule = made.default;
    const plain = self.fetch.bind(self);
    self.fetch = (request, init) => {
      const url = request instanceof Request ? request.url : String(request);
      const name = `engine/${url.split("/").pop() ?? ""}`;
      return plain(urls.get(name) ?? request, init);
    };
  }
  const loaded = await loader.loadPyodide(options);
  const site = "/lib/packages";
  for (const wheel of wheels) {
    reply({ kind: "progress", text: `unpacking ${wheel.split("-")[0] ?? wheel}` });
    loaded.unpackArchive(await read(`engine/${wheel}`), "zip", { extractDir: site });
  }
  reply({ kind: "progress", text: "opening the model" });
  loaded.unpackArchive(await read("data.zip"), "zip", { extractDir: "/shared" });
  loaded.runPython(
    [
      "import sys",
      `sys.path.insert(0, "${site}")`,
      "from tdb_dap.tools.share.engine import Shared",
      'shared = Shared("/shared")',
    ].join("\n"),
  );
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
    const lines = String(error).trim().split("\n");
    reply({ kind: "failed", text: lines[lines.length - 1] ?? "" });
  });
});
