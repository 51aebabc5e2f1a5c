/** Where in a line a value is written. */
import type { InlineValue } from "../protocol/generated";

/** Values by their line. */
export function byLine(values: readonly InlineValue[]): Map<number, InlineValue[]> {
  const found = new Map<number, InlineValue[]>();
  for (const value of values) found.set(value.line, [...(found.get(value.line) ?? []), value]);
  return found;
}

/** The column behind a word such as `%16` or `%R0.4096`, where the line has it; never behind `%161`. */
export function placeOf(name: string, line: string): number | undefined {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const found = new RegExp(`(^|[^\\w.%])${escaped}(?![\\w.]|#\\d)`).exec(line);
  return found === null ? undefined : found.index + found[0].length;
}
