/** Which compiled model a file belongs to. */
import { basename, dirname, join } from "node:path";

const BMODEL = /\.(bmodel|cvimodel)(\.xz)?$/;

const RECORDING = ".tdbrec";

export function isBmodel(path: string): boolean {
  return BMODEL.test(path);
}

/** A run that `tdb-dap record` has written down. */
export function isRecording(path: string): boolean {
  return path.endsWith(RECORDING);
}

/**
 * The `program` that a file stands for: a recording or a bmodel itself, or the context directory of a listing.
 *
 * `list` gives the names in a directory. A listing without a bmodel beside it belongs to no model:
 * the compiler leaves several other .mlir files about that cannot be debugged.
 */
export function programOf(path: string, list: (directory: string) => readonly string[]): string | undefined {
  if (isRecording(path)) return path;
  if (isBmodel(path)) return isContextFile(path) ? dirname(path) : path;
  if (!/\.(mlir|tdbasm)$/.test(path)) return undefined;
  const directory = dirname(path);
  const names = list(directory);
  const models = names.filter(isBmodel);
  if (models.some(isContextFile)) return directory;
  // Without test data the compiler leaves the bmodel beside the directory, and its name in the notes.
  if (basename(path) === "final.mlir" && names.includes("ref_files.json")) return directory;
  const [only, ...others] = models;
  return only !== undefined && others.length === 0 ? join(directory, only) : undefined;
}

/** The name that the compiler gives to the bmodel of a context directory. */
function isContextFile(path: string): boolean {
  return /^compilation\.bmodel(\.xz)?$/.test(basename(path));
}

/** Short name of a program for lists and session titles. */
export function titleOf(program: string): string {
  return basename(program, isRecording(program) ? RECORDING : "").replace(BMODEL, "");
}
