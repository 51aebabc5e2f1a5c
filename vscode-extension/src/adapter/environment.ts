/** Installing the debugger's package: into an environment of the extension's own, or for an interpreter. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import * as vscode from "vscode";
import { log } from "../log";
import { lastLine } from "../protocol/errors";
import { interpreterOf, isExecutable, pythonsOnPath, thisMachine } from "./machine";
import { isOlder, MINIMUM_PYTHON, shown } from "./versions";

/** What to install, and where the environment is to be. */
export interface Place {
  readonly environment: string;
  /** A wheel, or a requirement. */
  readonly package: string;
}

type Report = (text: string) => void;

const PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input"];

/** The environment that was there before, while a new one is made: environments cannot be moved, so only this is. */
const asideOf = (environment: string) => `${environment}.old`;

/** Holds the id of the process that makes the environment, from the first change of it to the last. */
const markerOf = (environment: string) => `${environment}.making`;

/** The interpreter of the environment; undefined while there is none, or one that is not finished. */
export function finishedEnvironment(environment: string): string | undefined {
  const maker = makerOf(environment);
  if (maker !== undefined && isAlive(maker)) return undefined;
  // The editor has ended in the middle.
  if (maker !== undefined) restore(environment);
  const python = interpreterOf(environment);
  return isExecutable(python) ? python : undefined;
}

/**
 * Make the environment anew; the one before stays until the new one is complete, and comes back if it never is.
 * Throws with the last words of what failed, or a CancellationError.
 */
export async function makeEnvironment(place: Place, report: Report, token: vscode.CancellationToken): Promise<void> {
  const { environment } = place;
  const maker = makerOf(environment);
  if (maker !== undefined && isAlive(maker))
    throw new Error(
      vscode.l10n.t(
        "Another window is installing the debugger; wait until it is done. If none is, delete {0}.",
        markerOf(environment),
      ),
    );
  if (maker !== undefined) restore(environment);
  remove(asideOf(environment));
  mkdirSync(dirname(environment), { recursive: true });
  writeFileSync(markerOf(environment), String(process.pid));
  try {
    if (existsSync(environment)) renameSync(environment, asideOf(environment));
  } catch (error) {
    remove(markerOf(environment));
    throw error;
  }
  try {
    await fill(place, report, token);
  } catch (error) {
    restore(environment);
    throw error;
  }
  // In this order: what the marker does not protect any more is complete.
  remove(markerOf(environment));
  remove(asideOf(environment));
}

/** Back to the environment that was there before the last attempt, or to none. */
function restore(environment: string): void {
  remove(environment);
  if (existsSync(asideOf(environment))) renameSync(asideOf(environment), environment);
  remove(markerOf(environment));
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** The process that makes the environment, or has died while it did. */
function makerOf(environment: string): number | undefined {
  try {
    return Number(readFileSync(markerOf(environment), "utf8"));
  } catch {
    return undefined;
  }
}

function isAlive(id: number): boolean {
  if (!Number.isInteger(id) || id <= 0) return false;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // Another user's process is one, too.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function fill(place: Place, report: Report, token: vscode.CancellationToken): Promise<void> {
  const { environment } = place;
  const python = await newestPython();
  const uv = thisMachine.which("uv");
  if (python !== undefined) {
    report(vscode.l10n.t("making an environment with {0}", python));
    try {
      await run(python, ["-m", "venv", environment], token);
      await installInto(interpreterOf(environment), place, report, token);
      return;
    } catch (error) {
      if (error instanceof vscode.CancellationError) throw error;
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
}

/** Install the package for an interpreter. Throws with the last words of pip, or with what to do instead. */
export async function installInto(
  python: string,
  place: Place,
  report: Report,
  token: vscode.CancellationToken,
): Promise<void> {
  report(vscode.l10n.t("downloading packages"));
  try {
    await run(python, [...PIP, "install", "--upgrade", place.package], token);
  } catch (error) {
    throw advice(error);
  }
}

/** What to do about the two things that Debian, and others, do to Python. */
function advice(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  // Python without what makes environments.
  if (/ensurepip|python3[\d.]*-venv/.test(error.message))
    return new Error(vscode.l10n.t("Python cannot make environments here; install it: sudo apt install python3-venv"));
  // PEP 668.
  if (error.message.includes("externally-managed-environment"))
    return new Error(
      vscode.l10n.t(
        "This Python belongs to the system, which lets nobody else install packages. Choose the one of a virtual environment, or install into a private environment.",
      ),
    );
  return error;
}

async function newestPython(): Promise<string | undefined> {
  for (const path of pythonsOnPath()) {
    const about = await thisMachine.interpreter(path);
    if (about !== undefined && !isOlder(about.python, MINIMUM_PYTHON)) return path;
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
