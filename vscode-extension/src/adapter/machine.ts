import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { Machine } from "./find";

/** Finds the package without importing it: importing NumPy would cost the user half a second at every F5. */
const PROBE = "import importlib.util, sys; sys.exit(importlib.util.find_spec('tdb_dap') is None)";
const PROBE_TIMEOUT_MILLISECONDS = 10_000;

export const thisMachine: Machine = {
  hasAdapter: (interpreter) =>
    new Promise((resolve) => {
      // Not in the workspace: a folder there that happens to be called tdb_dap is not an installation.
      execFile(
        interpreter,
        ["-c", PROBE],
        { cwd: homedir(), timeout: PROBE_TIMEOUT_MILLISECONDS, windowsHide: true },
        (error) => {
          resolve(error === null);
        },
      );
    }),

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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
