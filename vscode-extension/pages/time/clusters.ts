/** Marks that would lie on each other, as one. */
import type { Mark } from "../../src/protocol/messages";

/** Marks of one kind that are near each other, in the order of time; `x`: of the first. */
export interface Cluster {
  readonly x: number;
  readonly marks: readonly [Mark, ...Mark[]];
}

/** `marks`: in the order of time; `near`: how far from the first mark of a cluster the others are at most. */
export function clusters(marks: readonly Mark[], xOf: (mark: Mark) => number, near: number): Cluster[] {
  const found: { x: number; marks: [Mark, ...Mark[]] }[] = [];
  const latest = new Map<Mark["kind"], (typeof found)[number]>();
  for (const mark of marks) {
    const x = xOf(mark);
    const before = latest.get(mark.kind);
    if (before !== undefined && x - before.x < near) {
      before.marks.push(mark);
      continue;
    }
    const cluster: (typeof found)[number] = { x, marks: [mark] };
    latest.set(mark.kind, cluster);
    found.push(cluster);
  }
  return found;
}
