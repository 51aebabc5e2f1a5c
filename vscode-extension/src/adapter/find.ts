/** Rules for finding the debugger, without any access to the machine. */
import { isOlder, MINIMUM_PYTHON, numbersOf, shown } from "./versions";

export interface AdapterCommand {
  readonly executable: string;
  readonly args: readonly string[];
  /** True for the user's own command line, to which nothing is added. */
  readonly fixed: boolean;
}

/** What a Python interpreter says of itself. */
export interface Interpreter {
  /** Its version, e.g. [3, 11, 7]. */
  readonly python: readonly number[];
  /** Version of the package tdb_dap that it would import; null if there is none. */
  readonly version: string | null;
}

/** The search's view of the machine. */
export interface Machine {
  /** Undefined if this is no Python interpreter that can be started. */
  interpreter(path: string): Promise<Interpreter | undefined>;
  /** Version of a `tdb-dap` program; undefined if it does not answer. */
  program(path: string): Promise<string | undefined>;
  /** Full path of a program on PATH. */
  which(program: string): string | undefined;
}

/** Where the debugger was found. */
export type Origin = "setting" | "workspace" | "selected" | "private" | "bundled" | "path";

/** Where to look, in the order of the search. */
export interface Wishes {
  /** Setting `tdb.adapter.command`. */
  readonly command: readonly string[];
  /** Setting `tdb.adapter.interpreter`. */
  readonly interpreter: string;
  /** Interpreters of the environments in the workspace's folders. */
  readonly workspace: readonly string[];
  /** The interpreter chosen in the Python extension. */
  readonly selected: string | undefined;
  /** The interpreter of the environment that the extension has made. */
  readonly private: string | undefined;
  /** The debugger that came with the extension; undefined in the universal package. */
  readonly bundled: string | undefined;
  /** The extension's own version. */
  readonly version: string;
}

export interface Found {
  readonly command: AdapterCommand;
  readonly origin: Origin;
  /** Undefined where it was not asked: of the user's own command line. */
  readonly version: string | undefined;
}

/** A debugger that is there and cannot be used, or a Python without one. */
export interface Rejected {
  readonly path: string;
  readonly origin: Origin;
  readonly reason: Reason;
  /** The version that is too old, or "". */
  readonly version: string;
}

/** No debugger in that Python; does not start; Python too old; debugger older than the extension. */
export type Reason = "absent" | "unusable" | "old python" | "older";

export interface Search {
  readonly found: Found | undefined;
  /** What was looked at before. */
  readonly rejected: readonly Rejected[];
}

export type ServerCommand = Pick<AdapterCommand, "executable" | "args">;

/** A subcommand of the adapter's package; undefined if the user's command line does not show which that is. */
export function subcommand({ executable, args }: AdapterCommand, name: string): ServerCommand | undefined {
  if (args.at(-1) === "adapter") return { executable, args: [...args.slice(0, -1), name] };
  const module = args.indexOf("tdb_dap.adapter");
  return module > 0 && args[module - 1] === "-m"
    ? { executable, args: [...args.slice(0, module), "tdb_dap", name] }
    : undefined;
}

/**
 * The first that can be used of: the settings, the workspace's environments, the selected interpreter, the environment
 * that the extension made, the debugger that came with the extension, PATH.
 *
 * Environments come before the bundled debugger so that a project uses the version it pins, with the plugins that are
 * installed beside it; the private one does, because a user has asked for it. One that is older than the extension is
 * passed over: the extension would ask it for what it does not know.
 */
export async function findAdapter(wishes: Wishes, machine: Machine): Promise<Search> {
  const [executable, ...args] = wishes.command;
  if (executable !== undefined) {
    const found: Found = { command: { executable, args, fixed: true }, origin: "setting", version: undefined };
    return { found, rejected: [] };
  }
  const rejected: Rejected[] = [];
  const seen = new Set<string>();
  for (const { path, origin, kind } of candidates(wishes, machine)) {
    if (seen.has(path)) continue;
    seen.add(path);
    const looked = await LOOK[kind](path, machine, wishes.version);
    if ("reason" in looked) rejected.push({ path, origin, ...looked });
    else if (isNewEnough(looked.version, wishes.version)) return { found: { ...looked, origin }, rejected };
    else rejected.push({ path, origin, reason: "older", version: looked.version });
    // Whoever names an interpreter wants that one: another in its stead would be a surprise.
    if (origin === "setting") break;
  }
  return { found: undefined, rejected };
}

/** Can a debugger answer this version of the extension? */
export function isNewEnough(version: string, extension: string): boolean {
  return !isOlder(numbersOf(version), numbersOf(extension));
}

interface Candidate {
  readonly path: string;
  readonly origin: Origin;
  readonly kind: keyof typeof LOOK;
}

function candidates(wishes: Wishes, machine: Machine): Candidate[] {
  const interpreter = (path: string | undefined, origin: Origin): Candidate[] =>
    path === undefined || path === "" ? [] : [{ path, origin, kind: "interpreter" }];
  const program = machine.which("tdb-dap");
  return [
    ...interpreter(wishes.interpreter, "setting"),
    ...wishes.workspace.flatMap((path) => interpreter(path, "workspace")),
    ...interpreter(wishes.selected, "selected"),
    ...interpreter(wishes.private, "private"),
    ...(wishes.bundled === undefined ? [] : [{ path: wishes.bundled, origin: "bundled", kind: "own" } as const]),
    ...(program === undefined ? [] : [{ path: program, origin: "path", kind: "program" } as const]),
    ...interpreter(machine.which("python3"), "path"),
    ...interpreter(machine.which("python"), "path"),
  ];
}

type Looked = Pick<Rejected, "reason" | "version"> | { readonly command: AdapterCommand; readonly version: string };

const LOOK = {
  interpreter: asInterpreter,
  program: asProgram,
  // It was built with the extension: asking it would cost time at every F5.
  own: (path: string, _machine: Machine, version: string): Promise<Looked> =>
    Promise.resolve({ command: { executable: path, args: ["adapter"], fixed: false }, version }),
} satisfies Record<string, (path: string, machine: Machine, version: string) => Promise<Looked>>;

async function asProgram(path: string, machine: Machine): Promise<Looked> {
  const version = await machine.program(path);
  if (version === undefined) return { reason: "unusable", version: "" };
  return { command: { executable: path, args: ["adapter"], fixed: false }, version };
}

async function asInterpreter(path: string, machine: Machine): Promise<Looked> {
  const about = await machine.interpreter(path);
  if (about === undefined) return { reason: "unusable", version: "" };
  const { python, version } = about;
  if (isOlder(python, MINIMUM_PYTHON)) return { reason: "old python", version: shown(python) };
  if (version === null) return { reason: "absent", version: "" };
  return { command: { executable: path, args: ["-m", "tdb_dap.adapter"], fixed: false }, version };
}
