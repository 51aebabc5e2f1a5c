/** A virtual workspace: files that are not on a disk. */
import type * as vscode from "vscode";

/** Contents by path, those of the extension too; a folder is there when a file in it is. */
export const virtual = new Map<string, Uint8Array<ArrayBuffer>>();

/** The URI of a file in it. */
export function virtualUri(text: string): vscode.Uri {
  const { protocol, host, pathname } = new URL(text);
  const with_ = ({ path }: { readonly path: string }) => virtualUri(`${protocol}//${host}${path}`);
  const uri = { scheme: protocol.slice(0, -1), path: pathname, with: with_, toString: () => text };
  return uri as unknown as vscode.Uri;
}

const missing = (path: string) => Promise.reject(new Error(`${path}: not there`));

/** `vscode.workspace.fs`, as far as it is used. */
export const fileSystem = {
  stat: ({ path }: vscode.Uri) => {
    const size = virtual.get(path)?.byteLength;
    if (size !== undefined) return Promise.resolve({ type: 1, size });
    const isFolder = [...virtual.keys()].some((name) => name.startsWith(`${path}/`));
    return isFolder ? Promise.resolve({ type: 2, size: 0 }) : missing(path);
  },
  readFile: ({ path }: vscode.Uri) => (virtual.has(path) ? Promise.resolve(virtual.get(path)) : missing(path)),
  readDirectory: ({ path }: vscode.Uri) => {
    const below = [...virtual.keys()].filter((name) => name.startsWith(`${path}/`));
    const rest = below.map((name) => name.slice(path.length + 1));
    return Promise.resolve(rest.map((name) => [name.replace(/\/.*/, ""), name.includes("/") ? 2 : 1]));
  },
};
