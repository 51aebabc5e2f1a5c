/** Machines for tests: a folder of programs that is the whole PATH, in a home of its own. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** A directory that is removed with the process. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "tdb-test-"));
  process.once("exit", () => {
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

/** Write a shell script; its folder gets a file `starts` with a line for each start of it. */
export function script(path: string, text: string): string {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho "$0 $*" >> "${join(path, "../starts")}"\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** The programs of a folder that were started, with the first line of their arguments. */
export function starts(bin: string): string[] {
  const file = join(bin, "starts");
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line.startsWith("/"))
    : [];
}

/** Text of a script that answers the probe like a Python, and does the rest with `more`. */
export const pythonScript = (version: string | null, more = "", python = [3, 11, 2]) =>
  `case "$1" in -c) echo '${JSON.stringify({ python, version })}';; *) ${more || "exit 0"};; esac`;

/** Let these folders be where programs are looked for. */
export function setPath(...folders: string[]): void {
  process.env.PATH = folders.join(delimiter);
}
