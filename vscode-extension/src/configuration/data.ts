import { dirname, join } from "node:path";
import { isBmodel, isRecording } from "./program";

export interface DataFiles {
  inputs?: string;
  reference?: string;
}

/**
 * Input and reference data that lie beside a model.
 *
 * `input_ref_data.dat`, which the compiler leaves there, is not named: the adapter takes it by itself.
 */
export function dataBeside(program: string, list: (directory: string) => readonly string[]): DataFiles {
  // A recording holds what its program gave to the nets.
  if (isRecording(program)) return {};
  const directory = isBmodel(program) ? dirname(program) : program;
  const names = new Set(list(directory));
  const files: DataFiles = {};
  if (names.has("input.npz") && !names.has("input_ref_data.dat")) files.inputs = join(directory, "input.npz");
  if (names.has("ref.npz")) files.reference = join(directory, "ref.npz");
  return files;
}
