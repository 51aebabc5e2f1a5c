/** What the extension needs of node:path, for paths and texts of URIs in a browser. */

export function basename(path: string, suffix = ""): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return suffix !== "" && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

export function dirname(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function join(...parts: readonly string[]): string {
  return parts.join("/");
}
