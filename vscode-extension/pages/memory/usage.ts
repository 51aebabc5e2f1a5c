/** The use of a memory over all commands: bytes in use and fragmentation. */
import type { Memory, Resident } from "../../src/protocol/generated";
import { extent, stretchesOf, use } from "./model";

/** From a command on, until the next point: bytes in use, and the share of the free bytes not in the largest gap. */
export interface UsePoint {
  readonly at: number;
  readonly used: number;
  readonly fragmentation: number;
}

export function usageOf(memory: Memory): UsePoint[] {
  const moments = new Set<number>([0]);
  for (const { born, died } of memory.residents) moments.add(born).add(died + 1);
  const coming = [...memory.residents].sort((one, other) => one.born - other.born);
  const ends = extent(memory);
  let alive: Resident[] = [];
  let next = 0;
  return [...moments]
    .sort((one, other) => one - other)
    .map((at) => {
      alive = alive.filter(({ died }) => died >= at);
      for (let one = coming[next]; one !== undefined && one.born <= at; one = coming[++next]) alive.push(one);
      const parts = stretchesOf(alive, ends);
      const { used, largestGap } = use(parts);
      const free = parts.reduce((sum, { start, stop }) => sum + stop - start, 0) - used;
      return { at, used, fragmentation: free > 0 ? 1 - largestGap / free : 0 };
    });
}

/** The first point at which most bytes are in use. */
export function peakOf(points: readonly UsePoint[]): UsePoint | undefined {
  let peak = points[0];
  for (const point of points) if (point.used > (peak?.used ?? 0)) peak = point;
  return peak;
}
