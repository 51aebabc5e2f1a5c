/** Blocks by what the names of ops begin with: `model.6`, and in it `model.6/m.1`. */
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { visible, type Block } from "./blocks";

/** Share of the ops whose names have to have a path, for blocks by name to be of use. */
const LEAST_NAMED = 0.5;
/** Blocks in blocks. */
const LEVELS = 2;
/** Ops of a block in another one: fewer are shown as they are. */
const LEAST_NODES = 3;

/** Undefined where most names have no path, or all have the same. */
export function nameBlocks(graph: Pick<Graph, "nodes" | "edges">): Block[] | undefined {
  const { nodes } = graph;
  const paths = new Map(nodes.map((node) => [node.id, pathOf(node)]));
  const named = [...paths.values()].filter(({ length }) => length > 0);
  if (named.length < LEAST_NAMED * nodes.length) return undefined;
  const shared = sharedParts(named);
  const blocks: Block[] = [];
  let outer: Block[] = [];
  for (let level = 1; level <= LEVELS; level++) {
    const found = untangled(graph, atLevel(nodes, paths, shared, level), level === 1 ? 1 : LEAST_NODES);
    const inner = level === 1 ? found : found.filter((block) => outer.some((around) => isWithin(block, around)));
    if (level === 1 && inner.length < 2) return undefined;
    blocks.push(...inner);
    outer = inner;
  }
  return blocks;
}

/** The parts of a name before that of the op itself: `["model.6", "m.1"]` of `load_/model.6/m.1/Conv_filter`. */
function pathOf({ name }: GraphNode): string[] {
  const parts = name
    .replace(/^load_(?=\/)/, "")
    .split("/")
    .filter(Boolean);
  return parts.slice(0, -1);
}

/** Parts that all paths begin with. */
function sharedParts(paths: readonly (readonly string[])[]): number {
  const [first = []] = paths;
  let shared = 0;
  while (shared < first.length - 1 && paths.every((path) => path[shared] === first[shared])) shared++;
  return shared;
}

function atLevel(
  nodes: readonly GraphNode[],
  paths: ReadonlyMap<string, readonly string[]>,
  shared: number,
  level: number,
): Block[] {
  const groups = new Map<string, { title: string; nodes: GraphNode[] }>();
  for (const node of nodes) {
    const path = (paths.get(node.id) ?? []).slice(shared, shared + level);
    if (path.length < level) continue;
    const title = path.join("/");
    const key = `${node.subnet} ${title}`;
    const group = groups.get(key) ?? { title, nodes: [] };
    groups.set(key, group);
    group.nodes.push(node);
  }
  return [...groups.values()].map(({ title, nodes: members }) => blockOf(title, level, members));
}

function blockOf(title: string, level: number, nodes: readonly GraphNode[]): Block {
  return { id: `block ${String(level)} ${nodes[0]?.id ?? ""}`, title, nodes };
}

function isWithin(block: Block, around: Block): boolean {
  const members = new Set(around.nodes);
  return block.nodes.length < around.nodes.length && block.nodes.every((node) => members.has(node));
}

/** Blocks of `least` ops or more that can be drawn as one box each: one that is both before and after another is cut up. */
function untangled(graph: Pick<Graph, "nodes" | "edges">, blocks: readonly Block[], least: number): Block[] {
  const order = new Map(graph.nodes.map(({ id }, index) => [id, index]));
  let kept = blocks.filter(({ nodes }) => nodes.length >= least);
  for (;;) {
    const tangled = inCircles(visible(graph, kept, new Set()));
    const cut = kept.flatMap((block) => (tangled.has(block.id) ? runsOf(block, order) : [block]));
    if (cut.length === kept.length) return kept;
    kept = cut.filter(({ nodes }) => nodes.length >= least);
  }
}

/** A block as one for each part of it that follows without others in between. */
function runsOf({ id, title, nodes }: Block, order: ReadonlyMap<string, number>): Block[] {
  const runs: GraphNode[][] = [];
  let last: number | undefined;
  for (const node of nodes) {
    const at = order.get(node.id) ?? 0;
    if (last !== undefined && at === last + 1) runs.at(-1)?.push(node);
    else runs.push([node]);
    last = at;
  }
  return runs.map((run, index) => ({ id: index === 0 ? id : `block/${run[0]?.id ?? ""}`, title, nodes: run }));
}

/** Nodes that are before themselves. */
function inCircles({ nodes, edges }: Pick<Graph, "nodes" | "edges">): Set<string> {
  const circles = new Set(nodes.map(({ id }) => id));
  // What nothing left leads to is in no circle, nor is what leads to nothing left.
  for (const [from, to] of [
    ["tail", "head"],
    ["head", "tail"],
  ] as const) {
    const missing = new Map<string, number>();
    const after = new Map<string, string[]>();
    for (const edge of edges) {
      if (!circles.has(edge[from]) || !circles.has(edge[to])) continue;
      missing.set(edge[to], (missing.get(edge[to]) ?? 0) + 1);
      after.set(edge[from], [...(after.get(edge[from]) ?? []), edge[to]]);
    }
    const ready = [...circles].filter((id) => !missing.has(id));
    for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
      circles.delete(id);
      for (const next of after.get(id) ?? []) {
        const left = (missing.get(next) ?? 1) - 1;
        missing.set(next, left);
        if (left === 0) ready.push(next);
      }
    }
  }
  return circles;
}
