/** Python with the engine, in a worker of a shared page or of the editor. */
import type { Files } from "./messages";

export interface Python {
  readonly FS: { mkdirTree(path: string): void; writeFile(path: string, content: Uint8Array): void };
  readonly globals: { get(name: string): unknown; set(name: string, value: unknown): void };
  unpackArchive(content: Uint8Array, format: string, options: { extractDir: string }): void;
  runPython(code: string): unknown;
}

interface Loader {
  loadPyodide(options: Readonly<Record<string, unknown>>): Promise<Python>;
}

/** Where the engine is: at a URL, or in `files`, whose names begin with `engine/`. */
export interface Engine {
  readonly base: string;
  readonly files: Files | null;
  readonly wheels: readonly string[];
}

const SITE = "/lib/packages";

/** The content of a file of an engine, or beside it. */
export async function read({ base, files }: Engine, name: string): Promise<Uint8Array> {
  const own = files?.[name];
  if (own !== undefined) return new Uint8Array(own);
  const response = await fetch(new URL(name, base));
  if (!response.ok) throw new Error(`${name}: ${String(response.status)} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Load Python and unpack the wheels. `progress`: called with the name of each part. */
export async function load(engine: Engine, progress: (text: string) => void): Promise<Python> {
  const { base, files, wheels } = engine;
  const locate = (name: string): string => new URL(`engine/${name}`, base).href;
  const script = async (name: string): Promise<unknown> => import(scriptUrl(engine, name));
  progress("loading Python");
  const loader = (await script("pyodide.mjs")) as Loader;
  const options: Record<string, unknown> = {
    indexURL: locate(""),
    lockFileContents: new TextDecoder().decode(await read(engine, "engine/pyodide-lock.json")),
    stdLibURL: locate("python_stdlib.zip"),
  };
  if (files !== null) {
    options.createPyodideModule = ((await script("pyodide.asm.mjs")) as { default: unknown }).default;
    fetchFrom(files);
  }
  const python = await loader.loadPyodide(options);
  for (const wheel of wheels) {
    progress(`unpacking ${wheel.split("-")[0] ?? wheel}`);
    python.unpackArchive(await read(engine, `engine/${wheel}`), "zip", { extractDir: SITE });
  }
  python.runPython(`import sys\nsys.path.insert(0, "${SITE}")`);
  return python;
}

/** A script that is held here can only be imported as a blob. */
function scriptUrl({ base, files }: Engine, name: string): string {
  const own = files?.[`engine/${name}`];
  if (own === undefined) return new URL(`engine/${name}`, base).href;
  return URL.createObjectURL(new Blob([own], { type: "text/javascript" }));
}

/** Let the engine fetch its files from those that are held here: an editor's policy allows no blob to be fetched. */
function fetchFrom(files: Files): void {
  const plain = self.fetch.bind(self);
  self.fetch = (request, init) => {
    const url = request instanceof Request ? request.url : String(request);
    const name = url.split("/").pop() ?? "";
    const own = files[`engine/${name}`];
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return own ? Promise.resolve(new Response(own, { headers: { "content-type": type } })) : plain(request, init);
  };
}

/** The last line of an error: the one that says what has happened. */
export function lastLine(error: unknown): string {
  const lines = String(error).trim().split("\n");
  return lines[lines.length - 1] ?? "";
}
