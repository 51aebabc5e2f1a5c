/** Versions as lists of numbers. */

/** The oldest Python that the debugger runs on. */
export const MINIMUM_PYTHON = [3, 10];

export function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (let i = 0; i < than.length; i++) {
    const difference = (version[i] ?? 0) - (than[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** "3.9" of [3, 9, 18]: the rest does not matter to anybody. */
export function shown(version: readonly number[]): string {
  return version.slice(0, 2).join(".");
}

/** The numbers that a version begins with: [0, 2] of "0.2rc1". */
export function numbersOf(version: string): number[] {
  return (/^\d+(\.\d+)*/.exec(version)?.[0] ?? "0").split(".").map(Number);
}
