import * as vscode from "vscode";

/** The file at a path of this machine, or at the text of a URI, which a virtual workspace has. */
export function uriOf(path: string): vscode.Uri {
  return isUri(path) ? vscode.Uri.parse(path) : vscode.Uri.file(path);
}

/** A path of this machine, or in a virtual workspace the text of the URI. */
export function pathOf(uri: vscode.Uri): string {
  return uri.scheme === "file" ? uri.fsPath : uri.toString();
}

/** Not a path, also not one that begins with the letter of a drive. */
export function isUri(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(text);
}
