/** Contents of a memory at one moment. */
import type { Memory, MemoryMap, Region, Resident } from "../../src/protocol/generated";
import { hash } from "../shared/hash";

/** A stretch of memory at one moment, with what lies there; nothing if it is free. */
export interface Stretch {
  readonly start: number;
  readonly stop: number;
  readonly residents: readonly Resident[];
}

/** First and last byte to show: all there is, or, where that has no limit, what the program uses. */
export function extent(memory: Memory): [number, number] {
  if (memory.size > 0) return [0, memory.size];
  const { residents } = memory;
  return [Math.min(...residents.map(({ start }) => start)), Math.max(...residents.map(({ stop }) => stop))];
}

export function aliveAt(memory: Memory, ordinal: number): Resident[] {
  return memory.residents.filter(({ born, died }) => born <= ordinal && ordinal <= died);
}

/** The region that a tensor begins in, and how many bytes after its first. */
export function placeOf(
  { space, core }: Memory,
  { start }: Resident,
  regions: readonly Region[],
): { address: string; offset: number } | undefined {
  const found = regions.find(
    (region) => region.space === space && region.core === core && region.start <= start && start < region.stop,
  );
  return found && { address: found.reference, offset: start - found.start };
}

/** The tensors at a byte of a space now; in local memory the bytes of all lanes are alike. */
export function liesAt(
  { memories, laneBytes }: MemoryMap,
  ordinal: number,
  space: string,
  core: number,
  byte: number,
): Resident[] {
  const at = space === "R" ? byte % laneBytes : byte;
  return memories
    .filter((memory) => memory.space === space && memory.core === core)
    .flatMap((memory) => aliveAt(memory, ordinal).filter(({ start, stop }) => start <= at && at < stop));
}

/** The memory from its first byte to its last while a command runs: tensors, and the free space between them. */
export function stretches(memory: Memory, ordinal: number): Stretch[] {
  return stretchesOf(aliveAt(memory, ordinal), extent(memory));
}

/** The same of these tensors, which are all alive. */
export function stretchesOf(alive: readonly Resident[], [first, last]: readonly [number, number]): Stretch[] {
  const found: Stretch[] = [];
  let end = first;
  for (const resident of [...alive].sort((one, other) => one.start - other.start || one.stop - other.stop)) {
    if (resident.start > end) found.push({ start: end, stop: resident.start, residents: [] });
    const previous = found.at(-1);
    if (previous?.residents.length && resident.start < previous.stop) {
      const stop = Math.max(previous.stop, resident.stop);
      found[found.length - 1] = { start: previous.start, stop, residents: [...previous.residents, resident] };
    } else {
      found.push({ start: resident.start, stop: resident.stop, residents: [resident] });
    }
    end = Math.max(end, resident.stop);
  }
  if (end < last) found.push({ start: end, stop: last, residents: [] });
  return found;
}

/** Bytes in use, and the largest stretch that is not. */
export function use(parts: readonly Stretch[]): { used: number; largestGap: number } {
  let used = 0;
  let largestGap = 0;
  for (const { start, stop, residents } of parts) {
    if (residents.length > 0) used += stop - start;
    else largestGap = Math.max(largestGap, stop - start);
  }
  return { used, largestGap };
}

/** A number from 0 to `colours` - 1 that a tensor keeps wherever it is: of its name without how it got there. */
export function colourOf(name: string, colours: number): number {
  return hash(name.replace(/^(load|store)_/, "")) % colours;
}
