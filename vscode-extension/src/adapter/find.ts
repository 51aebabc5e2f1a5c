/** Rules for finding the debug adapter, without any access to the machine. */

export interface AdapterCommand {
  readonly executable: string;
  readonly args: readonly string[];
  /** True for the user's own command line, to which nothing is added. */
  readonly fixed: boolean;
}

/** The search's view of the machine. */
export interface Machine {
  /** Can this Python interpreter import `tdb_dap`? False also when there is no such interpreter. */
  hasAdapter(interpreter: string): Promise<boolean>;
  /** Full path of a program on PATH. */
  which(program: string): string | undefined;
}

export interface Wishes {
  /** Setting `tdb.adapter.command`. */
  readonly command: readonly string[];
  /** The interpreter chosen in the Python extension. */
  readonly interpreter: string | undefined;
}

export interface Search {
  readonly found: AdapterCommand | undefined;
  /** In words, for the message when nothing was found. */
  readonly tried: readonly string[];
}

export type ServerCommand = Pick<AdapterCommand, "executable" | "args">;

/** The language server of the adapter's package; undefined if the user's command line does not show which that is. */
export function languageServer(adapter: AdapterCommand): ServerCommand | undefined {
  return instead(adapter, "lsp");
}

/** The summary of the model whose path is added. */
export function informer(adapter: AdapterCommand): ServerCommand | undefined {
  return instead(adapter, "info");
}

function instead({ executable, args }: AdapterCommand, command: string): ServerCommand | undefined {
  if (args.at(-1) === "adapter") return { executable, args: [...args.slice(0, -1), command] };
  const module = args.indexOf("tdb_dap.adapter");
  return module > 0 && args[module - 1] === "-m"
    ? { executable, args: [...args.slice(0, module), "tdb_dap", command] }
    : undefined;
}

/**
 * The first of: the user's command line, the chosen interpreter, `tdb-dap` on PATH, Python on PATH.
 *
 * The chosen interpreter comes before PATH so that a project with its own environment uses the version
 * it pins, whatever is installed on the machine.
 */
export async function findAdapter(wishes: Wishes, machine: Machine): Promise<Search> {
  const [executable, ...args] = wishes.command;
  if (executable !== undefined) {
    return { found: { executable, args, fixed: true }, tried: [] };
  }
  const tried: string[] = [];
  if (wishes.interpreter !== undefined) {
    if (await machine.hasAdapter(wishes.interpreter)) {
      return { found: module_(wishes.interpreter), tried };
    }
    tried.push(`the selected interpreter ${wishes.interpreter}`);
  }
  const program = machine.which("tdb-dap");
  if (program !== undefined) {
    return { found: { executable: program, args: ["adapter"], fixed: false }, tried };
  }
  tried.push("tdb-dap on PATH");
  for (const name of ["python3", "python"]) {
    const interpreter = machine.which(name);
    if (interpreter === undefined) continue;
    if (await machine.hasAdapter(interpreter)) {
      return { found: module_(interpreter), tried };
    }
    tried.push(interpreter);
  }
  return { found: undefined, tried };
}

function module_(interpreter: string): AdapterCommand {
  return { executable: interpreter, args: ["-m", "tdb_dap.adapter"], fixed: false };
}
