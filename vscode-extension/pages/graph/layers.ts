/** Nodes in ranks from top to bottom, each below all that it reads, and edges that go around the boxes between. */
import type { Graph, GraphEdge } from "../../src/protocol/generated";
import { NODE, SPACING, type Point } from "./measures";

/** Passes over the ranks, down and up, that move nodes towards what they read and what reads them. */
const PASSES = 6;
/** Bends of edges for each node: the longest edges of a graph with more go straight. */
const BENDS = 4;

/** How strongly parts of a graph keep their place. */
const WEIGHTS = { op: 1, source: 0.05, bend: 0.2 } as const;

export interface Layers {
  readonly width: number;
  readonly height: number;
  /** Middle of each node, by id. */
  readonly nodes: ReadonlyMap<string, Point>;
  readonly edges: readonly { readonly tail: string; readonly head: string; readonly points: readonly Point[] }[];
}

/** A box, or the bend of an edge beside the boxes of a rank. */
interface Spot {
  readonly width: number;
  readonly rank: number;
  readonly before: Spot[];
  readonly after: Spot[];
  x: number;
}

/** No two nodes overlap; the same graph is always placed alike. */
export function layers({ nodes, edges }: Pick<Graph, "nodes" | "edges">): Layers {
  const rank = ranks(
    nodes.map(({ id }) => id),
    edges,
  );
  const rows: Spot[][] = [];
  const spot = (width: number, at: number): Spot => {
    const made = { width, rank: at, before: [], after: [], x: 0 };
    (rows[at] ??= []).push(made);
    return made;
  };
  const boxes = new Map(nodes.map(({ id }) => [id, spot(NODE.width, rank.get(id) ?? 0)]));
  const bends = bendsOf(edges, boxes, spot);
  for (const row of rows) row.forEach((one, index) => (one.x = index * (NODE.width + SPACING.nodesep)));
  for (const row of rows) centre(row);
  for (let pass = 0; pass < PASSES; pass++) {
    for (const row of [...rows].reverse()) arrange(row, ({ after }) => after);
    for (const row of rows) arrange(row, ({ before }) => before);
  }
  const edge = (sign: number) => (rows.length > 0 ? Math.max(...rows.map((row) => reach(row, sign))) : 0);
  const left = edge(-1) + SPACING.marginx;
  const down = NODE.height + SPACING.ranksep;
  const middle = ({ x, rank: at }: Spot) => ({ x: x + left, y: SPACING.marginy + NODE.height / 2 + at * down });
  return {
    width: left + edge(1) + SPACING.marginx,
    height: rows.length * down - SPACING.ranksep + 2 * SPACING.marginy,
    nodes: new Map([...boxes].map(([id, box]) => [id, middle(box)])),
    edges: edges.flatMap(({ tail, head }, i) => {
      const [from, to] = [boxes.get(tail), boxes.get(head)];
      if (from === undefined || to === undefined) return [];
      const between = (bends[i] ?? []).map(middle).flatMap((at) => [beside(at, -1), beside(at, 1)]);
      return [{ tail, head, points: [beside(middle(from), 1), ...between, beside(middle(to), -1)] }];
    }),
  };
}

/** Above the middle of a rank (-1) or below it (1), where a box ends. */
function beside({ x, y }: Point, side: number): Point {
  return { x, y: y + (side * NODE.height) / 2 };
}

/** The furthest that a row reaches to the right (1) or to the left (-1). */
function reach(row: readonly Spot[], sign: number): number {
  return Math.max(...row.map(({ x, width }) => sign * x + width / 2));
}

/** A bend in each rank that an edge passes, the shortest edges first; the ends are linked through the bends. */
function bendsOf(
  edges: readonly GraphEdge[],
  boxes: ReadonlyMap<string, Spot>,
  spot: (width: number, rank: number) => Spot,
): Spot[][] {
  const bends: Spot[][] = edges.map(() => []);
  const passed = ({ tail, head }: GraphEdge) => (boxes.get(head)?.rank ?? 0) - (boxes.get(tail)?.rank ?? 0) - 1;
  let left = BENDS * boxes.size;
  const shortestFirst = edges.map((edge, i) => ({ edge, i, length: passed(edge) })).sort((a, b) => a.length - b.length);
  for (const { edge, i, length } of shortestFirst) {
    const [tail, head] = [boxes.get(edge.tail), boxes.get(edge.head)];
    if (tail === undefined || head === undefined || tail === head) continue;
    let last = tail;
    if (length > 0 && length <= left) {
      left -= length;
      for (let rank = tail.rank + 1; rank < head.rank; rank++) {
        const bend = spot(0, rank);
        link(last, bend);
        bends[i]?.push(bend);
        last = bend;
      }
    }
    link(last, head);
  }
  return bends;
}

function link(tail: Spot, head: Spot): void {
  tail.after.push(head);
  head.before.push(tail);
}

/** The longest way to each node; what reads nothing stands right above its first reader. */
function ranks(ids: readonly string[], edges: readonly GraphEdge[]): Map<string, number> {
  const before = new Map<string, string[]>(ids.map((id) => [id, []]));
  const after = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const { tail, head } of edges) {
    before.get(head)?.push(tail);
    after.get(tail)?.push(head);
  }
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

/**
 * Put a row in the order of the middles of its neighbours, but for those that read nothing where there are others, and
 * each as near to that middle as widths allow: the sum of squared distances, by weight, is the least (pool adjacent
 * violators).
 */
function arrange(row: Spot[], neighbours: (spot: Spot) => readonly Spot[]): void {
  for (const spot of row) {
    const all = neighbours(spot);
    const computed = all.filter(({ before }) => before.length > 0);
    const found = computed.length > 0 ? computed : all;
    if (found.length > 0) spot.x = found.reduce((sum, { x }) => sum + x, 0) / found.length;
  }
  row.sort((one, other) => one.x - other.x);
  // Without the room that those before it take, a pool is where the mean of its spots wants to be.
  const pools: { x: number; weight: number; end: number }[] = [];
  const offsets: number[] = [];
  row.forEach((spot, i) => {
    const last = row[i - 1];
    const room = last === undefined ? 0 : (last.width + spot.width) / 2 + SPACING.nodesep;
    const offset = (offsets[i - 1] ?? 0) + room;
    offsets.push(offset);
    const pool = { x: spot.x - offset, weight: weightOf(spot), end: i + 1 };
    for (let before = pools.at(-1); before !== undefined && before.x > pool.x; before = pools.at(-1)) {
      pools.pop();
      const weight = before.weight + pool.weight;
      pool.x = (before.weight * before.x + pool.weight * pool.x) / weight;
      pool.weight = weight;
    }
    pools.push(pool);
  });
  let at = 0;
  for (const { x, end } of pools)
    for (const spot of row.slice(at, end)) {
      spot.x = x + (offsets[at] ?? 0);
      at++;
    }
}

/** What reads nothing moves for what computes, and bends make way for both. */
function weightOf({ width, before }: Spot): number {
  if (width === 0) return WEIGHTS.bend;
  return before.length === 0 ? WEIGHTS.source : WEIGHTS.op;
}

function centre(row: readonly Spot[]): void {
  const middle = ((row[0]?.x ?? 0) + (row.at(-1)?.x ?? 0)) / 2;
  for (const spot of row) spot.x -= middle;
}
