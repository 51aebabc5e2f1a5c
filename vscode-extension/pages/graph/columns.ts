/** A long graph as columns side by side, so that all of it is seen as large as can be. */
import type { Layers } from "./layers";
import { NODE, SPACING, type Point } from "./measures";

/** Pixels between columns, where edges between them are led. */
const GAP = 40;
const ROW = NODE.height + SPACING.ranksep;
/** From a box to where an edge turns. */
const TURN = SPACING.ranksep / 2;

/** Pixels of the window. */
export interface Room {
  readonly width: number;
  readonly height: number;
}

/** How much larger a picture has to become for wide ranks to be broken: edges then pass behind boxes. */
const WORTHWHILE = 1.3;
const BOX = NODE.width + SPACING.nodesep;

/** The ranks of a graph in as many columns as make it largest in the window; wide ones are broken if that makes it larger. */
export function columns(placed: Layers, room: Room): Layers {
  const broken = breakable(placed, room);
  const [long, wide] = [broken, placed].map((one) => best(one, room));
  if (long === undefined || wide === undefined) return placed;
  return long.scale > WORTHWHILE * wide.scale ? inColumns(broken, long.count) : inColumns(placed, wide.count);
}

/** The scale at which all of a graph is seen in so many columns. */
function scaleOf({ width, height }: Room, room: Room): number {
  return Math.min(room.width / width, room.height / height, 1);
}

function rowsOf({ height }: Layers): number {
  return Math.max(Math.round((height - 2 * SPACING.marginy + SPACING.ranksep) / ROW), 1);
}

function sizeOf(width: number, rows: number, count: number): Room {
  return {
    width: count * (width - 2 * SPACING.marginx + GAP) - GAP + 2 * SPACING.marginx,
    height: Math.ceil(rows / count) * ROW - SPACING.ranksep + 2 * SPACING.marginy,
  };
}

/** As many columns as make ranks of this width largest. */
function best(placed: Layers, room: Room): { readonly count: number; readonly scale: number } {
  const rows = rowsOf(placed);
  let best = { count: 1, scale: scaleOf(sizeOf(placed.width, rows, 1), room) };
  for (let count = 2; count <= rows; count++) {
    const scale = scaleOf(sizeOf(placed.width, rows, count), room);
    if (scale > best.scale) best = { count, scale };
  }
  return best;
}

/** Each rank in rows of as many boxes as make the graph largest. */
function breakable(placed: Layers, room: Room): Layers {
  const ranks = new Map<number, [string, Point][]>();
  for (const one of placed.nodes) ranks.set(one[1].y, [...(ranks.get(one[1].y) ?? []), one]);
  const sorted = [...ranks]
    .sort(([one], [other]) => one - other)
    .map(([, row]) => row.sort(([, one], [, other]) => one.x - other.x));
  const widest = Math.max(1, ...sorted.map(({ length }) => length));
  const widthOf = (boxes: number) => boxes * BOX - SPACING.nodesep + 2 * SPACING.marginx;
  const heightOf = (boxes: number) =>
    sorted.reduce((sum, { length }) => sum + Math.ceil(length / boxes), 0) * ROW -
    SPACING.ranksep +
    2 * SPACING.marginy;
  let boxes = widest;
  const scale = (count: number) => scaleOf({ width: widthOf(count), height: heightOf(count) }, room);
  for (let count = widest - 1; count > 0; count--) if (scale(count) > scale(boxes)) boxes = count;
  const nodes = new Map<string, Point>();
  let row = 0;
  for (const rank of sorted)
    for (let from = 0; from < rank.length; from += boxes, row++)
      rank.slice(from, from + boxes).forEach(([id], index, part) => {
        const x = widthOf(boxes) / 2 + (index - (part.length - 1) / 2) * BOX;
        nodes.set(id, { x, y: SPACING.marginy + NODE.height / 2 + row * ROW });
      });
  const edges = placed.edges.flatMap(({ tail, head }) => {
    const [from, to] = [nodes.get(tail), nodes.get(head)];
    if (from === undefined || to === undefined) return [];
    const [start, end] = [from.y + NODE.height / 2, to.y - NODE.height / 2];
    return [
      {
        tail,
        head,
        points: [
          { x: from.x, y: start },
          { x: to.x, y: end },
        ],
      },
    ];
  });
  return { width: widthOf(boxes), height: heightOf(boxes), nodes, edges };
}

function inColumns(placed: Layers, count: number): Layers {
  if (count === 1) return placed;
  const rows = rowsOf(placed);
  const step = placed.width - 2 * SPACING.marginx + GAP;
  const perColumn = Math.ceil(rows / count);
  const columnOf = (y: number) => Math.floor(Math.round((y - SPACING.marginy - NODE.height / 2) / ROW) / perColumn);
  const moved = ({ x, y }: Point, column: number) => ({ x: x + column * step, y: y - column * perColumn * ROW });
  const nodes = new Map([...placed.nodes].map(([id, at]) => [id, moved(at, columnOf(at.y))]));
  const edges = placed.edges.map(({ tail, head, points }) => {
    const [from, to] = [tail, head].map((id) => columnOf(placed.nodes.get(id)?.y ?? 0));
    const [first, last] = [points[0], points.at(-1)];
    if (from === undefined || to === undefined || first === undefined || last === undefined || from === to)
      return { tail, head, points: points.map((point) => moved(point, from ?? 0)) };
    const [start, end] = [moved(first, from), moved(last, to)];
    const gap = (column: number) => SPACING.marginx + column * step - GAP / 2;
    const top = SPACING.marginy / 2;
    const across = to === from + 1 ? [] : [gap(from + 1), gap(to)].map((x) => ({ x, y: top }));
    const turns = [{ x: gap(from + 1), y: start.y + TURN }, ...across, { x: gap(to), y: end.y - TURN }];
    return { tail, head, points: [start, ...turns, end] };
  });
  return { ...sizeOf(placed.width, rows, count), nodes, edges };
}
