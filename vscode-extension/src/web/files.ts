/** Files of a virtual workspace, for an adapter that has a file system of its own. */
import * as vscode from "vscode";
import type { Contents } from "../protocol/worker";
import { isUri, uriOf } from "../programs/uri";

/** Where the adapter has them. */
const ROOT = "/workspace";

/** Bytes of all files of a session: a worker has at most 4 GB, and holds each of them twice for a moment. */
const MOST = 1 << 30;

/** Of the files in a folder, those that the adapter may read. */
const READ = /\.(bmodel|cvimodel|mlir|json|txt|npz|npy|dat|tdbrec)(\.xz)?$/;

const NAMED = ["program", "inputs", "reference"] as const;

type Launch = Readonly<Record<string, unknown>>;

/** One file system: that of the model. Its URIs are paths below ROOT for the adapter, and back. */
export class Mount {
  constructor(private readonly model: vscode.Uri) {}

  /** A message to the adapter, as JSON, with its paths. */
  toAdapter(message: unknown): string {
    return JSON.stringify(message, (key, value: unknown) =>
      isPath(key) && typeof value === "string" && isUri(value)
        ? this.pathOf(uriOf(value))
        : key === "reference" && Array.isArray(value)
          ? value.map((one: string) => (isUri(one) ? this.pathOf(uriOf(one)) : one))
          : value,
    );
  }

  /** A message of the adapter, with URIs. */
  fromAdapter(text: string): unknown {
    return JSON.parse(text, (key, value: unknown) =>
      key === "path" && typeof value === "string" && value.startsWith(`${ROOT}/`)
        ? this.model.with({ path: value.slice(ROOT.length) }).toString()
        : value,
    );
  }

  /** The files of a launch: of the model's folder, and those that the configuration names. */
  async contents(launch: Launch): Promise<Contents> {
    const named = NAMED.flatMap((name) => launch[name] ?? []).filter(
      (value) => typeof value === "string" && isUri(value),
    );
    const listed = await Promise.all(named.map((value) => filesAt(uriOf(value as string))));
    const uris = new Map(listed.flat().map((uri) => [this.pathOf(uri), uri]));
    const sizes = await Promise.all([...uris.values()].map((uri) => vscode.workspace.fs.stat(uri)));
    const total = sizes.reduce((sum, { size }) => sum + size, 0);
    if (total > MOST)
      throw new Error(vscode.l10n.t("the model's files are {0} MB; a browser takes 1,024.", total >> 20));
    const read = async ([path, uri]: [string, vscode.Uri]) =>
      [path, new Uint8Array(await vscode.workspace.fs.readFile(uri))] as const;
    return Object.fromEntries(await Promise.all([...uris].map(read)));
  }

  private pathOf(uri: vscode.Uri): string {
    return `${ROOT}${uri.path}`;
  }
}

/** Keys of messages whose values are files. */
function isPath(key: string): boolean {
  return key === "path" || (NAMED as readonly string[]).includes(key);
}

/** A file with those in its folder, or the files of a folder. */
async function filesAt(uri: vscode.Uri): Promise<vscode.Uri[]> {
  const { type } = await vscode.workspace.fs.stat(uri);
  const isFolder = (type & vscode.FileType.Directory) !== 0;
  const folder = isFolder ? uri : vscode.Uri.joinPath(uri, "..");
  const entries = await vscode.workspace.fs.readDirectory(folder);
  const files = entries.filter(([name, kind]) => (kind & vscode.FileType.File) !== 0 && READ.test(name));
  return [...(isFolder ? [] : [uri]), ...files.map(([name]) => vscode.Uri.joinPath(folder, name))];
}
