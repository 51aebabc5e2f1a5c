/** What the extension needs of node:fs, in a browser: there are no files but those of virtual workspaces. */

export function existsSync(): boolean {
  return false;
}
