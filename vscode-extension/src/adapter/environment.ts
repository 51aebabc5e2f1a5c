/** Installing the debugger's package: into an environment of the extension's own, or for an interpreter. */
import { spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { log } from "../log";
import { lastLine } from "../protocol/errors";
import { interpreterOf, thisMachine } from "./machine";
import { isOlder, MINIMUM_PYTHON, shown } from "./versions";

/** What to install, and where the environment is to be. */
export interface Place {
  readonly environment: string;
  /** A wheel, or a requirement. */
  readonly package: string;
}

type Report = (text: string) => void;

const PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input"];

/** Make the environment anew. Throws with the last words of what failed. */
export async function makeEnvironment(place: Place, report: Report, token: vscode.CancellationToken): Promise<void> {
  const { environment } = place;
  // One that an earlier attempt has left unfinished would look like a whole one.
  rmSync(environment, { recursive: true, force: true });
  try {
    const python = await newestPython();
    const uv = thisMachine.which("uv");
    if (python !== undefined) {
      report(vscode.l10n.t("making an environment with {0}", python));
      try {
        await run(python, ["-m", "venv", environment], token);
        await installInto(interpreterOf(environment), place, report, token);
        return;
      } catch (error) {
        // Debian's python3 without python3-venv cannot; uv can.
        if (uv === undefined || existsSync(interpreterOf(environment))) throw advice(error);
      }
    }
    if (uv === undefined) {
      const minimum = shown(MINIMUM_PYTHON);
      throw new Error(vscode.l10n.t("No Python {0} or newer was found on this machine; install one, or uv.", minimum));
    }
    report(vscode.l10n.t("making an environment with {0}", uv));
    await run(uv, ["venv", "--clear", "--python", `>=${shown(MINIMUM_PYTHON)}`, environment], token);
    report(vscode.l10n.t("downloading packages"));
    await run(uv, ["pip", "install", "--python", interpreterOf(environment), place.package], token);
  } catch (error) {
    rmSync(environment, { recursive: true, force: true });
    throw error;
  }
}

/** Install the package for an interpreter. Throws with the last words of pip. */
export async function installInto(
  python: string,
  place: Place,
  report: Report,
  token: vscode.CancellationToken,
): Promise<void> {
  report(vscode.l10n.t("downloading packages"));
  await run(python, [...PIP, "install", "--upgrade", place.package], token);
}

/** Debian ships Python without what makes environments. */
function advice(error: unknown): unknown {
  if (!(error instanceof Error) || !/ensurepip|python3[\d.]*-venv/.test(error.message)) return error;
  return new Error(vscode.l10n.t("Python cannot make environments here; install it: sudo apt install python3-venv"));
}

async function newestPython(): Promise<string | undefined> {
  const minors = Array.from({ length: 10 }, (_, i) => `python3.${String(19 - i)}`);
  // What `python3` is, is what people maintain: the others only where that one is too old.
  for (const name of ["python3", "python", ...minors]) {
    const path = thisMachine.which(name);
    const about = path === undefined ? undefined : await thisMachine.interpreter(path);
    if (path !== undefined && about !== undefined && !isOlder(about.python, MINIMUM_PYTHON)) return path;
  }
  return undefined;
}

/** Run a program to its end; its output goes into the log. */
function run(executable: string, args: readonly string[], token: vscode.CancellationToken): Promise<void> {
  log().info([executable, ...args].join(" "));
  return new Promise((resolve, reject) => {
    let said = "";
    const started = spawn(executable, args, { cwd: homedir(), windowsHide: true, stdio: ["ignore", "pipe", "pipe"] });
    const cancelled = token.onCancellationRequested(() => started.kill());
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-10_000);
        for (const line of text.split("\n").filter((line) => line.trim() !== "")) log().info(line);
      });
    }
    const done = (outcome: () => void) => {
      cancelled.dispose();
      outcome();
    };
    started.once("error", (error) => {
      done(() => {
        reject(error);
      });
    });
    started.once("close", (code) => {
      done(() => {
        if (token.isCancellationRequested) reject(new vscode.CancellationError());
        else if (code === 0) resolve();
        else reject(new Error(complaint(said)));
      });
    });
  });
}

/** What a failed program said: pip's own errors before what it says afterwards. */
function complaint(said: string): string {
  const lines = said.split("\n").map((line) => line.trim());
  const errors = lines.filter((line) => /^error:/i.test(line));
  return errors.at(-1) ?? lines.find((line) => line.includes("ensurepip")) ?? lastLine(said);
}
