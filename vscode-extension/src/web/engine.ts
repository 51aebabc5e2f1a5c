/** The engine that the package for the web carries: Python, NumPy and the adapter, for a worker. */
import * as vscode from "vscode";
import type { StartWorker } from "../protocol/worker";

/** dist/engine/engine.json, which esbuild.mjs writes. */
interface Manifest {
  readonly files: readonly string[];
  readonly wheels: readonly string[];
}

export interface Engine extends StartWorker {
  /** URL of the worker's program. */
  readonly program: string;
}

let loaded: Promise<Engine> | undefined;

/** Read the engine once; an error says which package has one. */
export function engineOf(extension: vscode.Uri): Promise<Engine> {
  loaded ??= read(extension).catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

async function read(extension: vscode.Uri): Promise<Engine> {
  const content = (...names: string[]) =>
    vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, "dist", ...names));
  const manifest = await content("engine", "engine.json").then(undefined, () => {
    throw new Error(
      vscode.l10n.t("this package of the extension has no engine for browsers; install tdb-dap-web.vsix of a release."),
    );
  });
  const { files, wheels } = JSON.parse(new TextDecoder().decode(manifest)) as Manifest;
  const named = async (name: string) => [`engine/${name}`, bufferOf(await content("engine", name))] as const;
  const [program, ...contents] = await Promise.all([content("web", "worker.js"), ...files.map(named)]);
  return {
    kind: "start",
    files: Object.fromEntries(contents),
    wheels,
    program: URL.createObjectURL(new Blob([bufferOf(program)], { type: "text/javascript" })),
  };
}

/** The bytes alone: an array may be a part of a larger buffer. */
function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
