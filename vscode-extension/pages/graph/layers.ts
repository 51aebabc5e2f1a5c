/** A quick layout for graphs that a thorough one takes too long for: ranks from top to bottom, parents above. */
import type { Graph } from "../../src/protocol/generated";
import { NODE, SPACING, type Point } from "./layout";

/** Passes down the ranks that move nodes below what they read. */
const PASSES = 3;

export interface Layers {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, Point>;
}

/** Middles of the nodes; no two of them overlap, and each lies below all that it reads. */
export function layers({ nodes, edges }: Pick<Graph, "nodes" | "edges">): Layers {
  const before = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  const after = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { tail, head } of edges) {
    before.get(head)?.push(tail);
    after.get(tail)?.push(head);
  }
  const rank = ranks(before, after);
  const rows: string[][] = [];
  for (const { id } of nodes) (rows[rank.get(id) ?? 0] ??= []).push(id);
  const step = NODE.width + SPACING.nodesep;
  const x = new Map<string, number>();
  for (const row of rows) row.forEach((id, index) => x.set(id, (index - (row.length - 1) / 2) * step));
  for (let pass = 0; pass < PASSES; pass++) {
    for (const row of rows) arrange(row, x, before, step);
    for (const row of [...rows].reverse()) arrange(row, x, after, step);
  }
  const left = Math.min(...x.values()) - NODE.width / 2 - SPACING.marginx;
  const right = Math.max(...x.values()) + NODE.width / 2 + SPACING.marginx;
  const down = NODE.height + SPACING.ranksep;
  return {
    width: right - left,
    height: rows.length * down + 2 * SPACING.marginy,
    nodes: new Map(
      nodes.map(({ id }) => [
        id,
        { x: (x.get(id) ?? 0) - left, y: SPACING.marginy + NODE.height / 2 + (rank.get(id) ?? 0) * down },
      ]),
    ),
  };
}

/** The longest way to each node; what reads nothing stands right above its first reader. */
function ranks(
  before: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
): Map<string, number> {
  const rank = new Map<string, number>();
  const missing = new Map([...before].map(([id, found]) => [id, found.length]));
  const ready = [...before.keys()].filter((id) => missing.get(id) === 0);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    rank.set(id, Math.max(-1, ...(before.get(id) ?? []).map((other) => rank.get(other) ?? 0)) + 1);
    for (const next of after.get(id) ?? []) {
      const left = (missing.get(next) ?? 1) - 1;
      missing.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  for (const [id, found] of before) {
    const readers = after.get(id) ?? [];
    if (found.length === 0 && readers.length > 0)
      rank.set(id, Math.max(Math.min(...readers.map((other) => rank.get(other) ?? 0)) - 1, 0));
  }
  return rank;
}

/** Move the nodes of a row as near to the middle of their neighbours as their widths allow. */
function arrange(
  row: string[],
  x: Map<string, number>,
  neighbours: ReadonlyMap<string, readonly string[]>,
  step: number,
): void {
  const wanted = new Map(
    row.map((id) => {
      const found = (neighbours.get(id) ?? []).map((other) => x.get(other) ?? 0);
      return [id, found.length > 0 ? found.reduce((sum, at) => sum + at, 0) / found.length : (x.get(id) ?? 0)];
    }),
  );
  row.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0));
  let edge = -Infinity;
  let shift = 0;
  for (const id of row) {
    const at = Math.max(wanted.get(id) ?? 0, edge + step);
    x.set(id, at);
    shift += at - (wanted.get(id) ?? 0);
    edge = at;
  }
  for (const id of row) x.set(id, (x.get(id) ?? 0) - shift / row.length);
}
