/** Lines of final.mlir in words. A language model has a file per net, and lines count through all of them. */
import type { MlirPart } from "../../src/protocol/generated";
import { t } from "./l10n";

let files: readonly MlirPart[] = [];

/** `parts`: the files of the program that the page shows, where there are several. */
export function countThrough(parts: readonly MlirPart[]): void {
  files = parts;
}

/** `line 12`; where there are several files `block_0/final.mlir:12`. */
export function lineText(line: number): string {
  const [name, number] = placeOf(line);
  return name === undefined ? t("line {0}", number) : `${name}:${String(number)}`;
}

/** Its number in its file, where that is named by what is around it. */
export function numberOf(line: number): number {
  return placeOf(line)[1];
}

function placeOf(line: number): [string | undefined, number] {
  const file = files.filter(({ before }) => before < line).at(-1);
  return file === undefined ? [undefined, line] : [file.name, line - file.before];
}
