import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { Interpreter, Machine } from "./find";

/**
 * Finds the package without importing it: importing NumPy would cost the user half a second at every F5. Any Python
 * since 2.7 can run this, so that an old one can be told from a broken one.
 */
const PROBE = `
import json, sys
version = None
try:
    import importlib.util, os
    spec = importlib.util.find_spec("tdb_dap")
    if spec is not None and spec.submodule_search_locations:
        names = {}
        with open(os.path.join(list(spec.submodule_search_locations)[0], "version.py")) as source:
            exec(source.read(), names)
        version = names["__version__"]
except Exception:
    pass
print(json.dumps({"python": list(sys.version_info[:3]), "version": version}))
`;

const PROBE_TIMEOUT_MILLISECONDS = 10_000;

export const thisMachine: Machine = {
  async interpreter(path) {
    const output = await outputOf(path, ["-c", PROBE]);
    if (output === undefined) return undefined;
    try {
      return JSON.parse(output) as Interpreter;
    } catch {
      return undefined;
    }
  },

  async program(path) {
    return /^tdb-dap (\S+)/.exec((await outputOf(path, ["--version"])) ?? "")?.[1];
  },

  which(program) {
    const suffixes = process.platform === "win32" ? (process.env.PATHEXT ?? ".EXE").split(";") : [""];
    for (const directory of (process.env.PATH ?? "").split(delimiter).filter(Boolean)) {
      for (const suffix of suffixes) {
        const candidate = join(directory, program + suffix);
        if (isExecutable(candidate)) return candidate;
      }
    }
    return undefined;
  },
};

/**
 * Every Python on PATH, each once. What `python3` is, is what people maintain, so it comes first; the others matter
 * where that one is too old.
 */
export function pythonsOnPath(): string[] {
  const newest = 19;
  const minors = Array.from({ length: 10 }, (_, i) => `python3.${String(newest - i)}`);
  const paths = ["python3", "python", ...minors].map((name) => thisMachine.which(name));
  return [...new Set(paths.filter((path) => path !== undefined))];
}

/** What a program prints; undefined if it cannot be started or fails. */
function outputOf(executable: string, args: string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    // Not in the workspace: a folder there that happens to be called tdb_dap is not an installation.
    const options = { cwd: homedir(), timeout: PROBE_TIMEOUT_MILLISECONDS, windowsHide: true };
    execFile(executable, args, options, (error, output) => {
      resolve(error === null ? output : undefined);
    });
  });
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The interpreter of a virtual environment, on this system. */
export function interpreterOf(environment: string): string {
  return process.platform === "win32" ? join(environment, "Scripts", "python.exe") : join(environment, "bin", "python");
}
