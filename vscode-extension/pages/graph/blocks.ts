/** Blocks of a graph: by name, or layer groups and what stands between them; each is one box until it is opened. */
import type { Graph, GraphEdge, GraphNode } from "../../src/protocol/generated";
import { t } from "../shared/l10n";
import { numberOf } from "../shared/lines";

/** Ops up to which a graph is shown whole. */
export const WHOLE_NODES = 120;
/** Most ops of a block outside of layer groups. */
const RUN_NODES = 40;
/** Kinds of ops that a box names. */
const KINDS = 2;

export interface Block {
  readonly id: string;
  readonly title: string;
  /** Those of blocks in it, too. */
  readonly nodes: readonly GraphNode[];
}

/** What is drawn: ops of open blocks, and closed blocks as one node each. */
export interface Visible {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Closed ones by the id of their node. */
  readonly closed: ReadonlyMap<string, Block>;
}

/** Layer groups and runs of ops between them, in the order of the file; every node is in one of them. */
export function blocksOf({ nodes }: Pick<Graph, "nodes">): Block[] {
  const blocks: Block[] = [];
  let run: GraphNode[] = [];
  const groups = new Map<string, GraphNode[]>();
  const close = () => {
    const [first, last] = [run[0], run.at(-1)];
    if (first !== undefined && last !== undefined)
      blocks.push({
        id: `block ${first.id}`,
        title: t("lines {0} to {1}", numberOf(first.line), numberOf(last.line)),
        nodes: run,
      });
    run = [];
  };
  for (const node of nodes) {
    if (node.group === null) {
      if (run.length >= RUN_NODES || (run[0] !== undefined && run[0].subnet !== node.subnet)) close();
      run.push(node);
      continue;
    }
    close();
    const key = `${node.subnet} ${String(node.group)}`;
    const known = groups.get(key);
    if (known === undefined) {
      const members = [node];
      groups.set(key, members);
      blocks.push({ id: `block ${node.id}`, title: t("layer group, line {0}", numberOf(node.group)), nodes: members });
    } else known.push(node);
  }
  close();
  return blocks;
}

/**
 * `blocks`: those around others before these; `open`: ids of blocks. Between two closed blocks there is one edge, however
 * many values flow.
 */
export function visible(
  graph: Pick<Graph, "nodes" | "edges">,
  blocks: readonly Block[],
  open: ReadonlySet<string>,
): Visible {
  const closed = new Map<string, Block>();
  const shown = new Map<string, string>();
  for (const block of blocks) {
    const isAround = block.nodes.some(({ id }) => shown.has(id));
    if (isAround || open.has(block.id) || block.nodes.length === 1) continue;
    closed.set(block.id, block);
    for (const { id } of block.nodes) shown.set(id, block.id);
  }
  const nodes: GraphNode[] = [];
  const made = new Set<string>();
  for (const node of graph.nodes) {
    const block = closed.get(shown.get(node.id) ?? "");
    if (block === undefined) {
      shown.set(node.id, node.id);
      nodes.push(node);
    } else if (!made.has(block.id)) {
      made.add(block.id);
      nodes.push(nodeOf(block));
    }
  }
  const edges = new Map<string, GraphEdge>();
  for (const { tail, head, value } of graph.edges) {
    const [from, to] = [shown.get(tail), shown.get(head)];
    if (from !== undefined && to !== undefined && from !== to)
      edges.set(`${from} ${to}`, { tail: from, head: to, value });
  }
  return { nodes, edges: [...edges.values()], closed };
}

/** A closed block as a node: its kinds of ops in place of an opcode. */
function nodeOf({ id, title, nodes }: Block): GraphNode {
  const [first, last] = [nodes[0], nodes.at(-1)];
  if (first === undefined || last === undefined) throw new Error(id);
  return { ...last, id, opcode: title, name: kindsText(nodes), line: first.line, group: null };
}

/** `Conv2D ×12, Add ×4 …` */
function kindsText(nodes: readonly GraphNode[]): string {
  const counts = new Map<string, number>();
  for (const { opcode } of nodes) {
    const kind = opcode.replace(/^(tpu|top)\./, "");
    if (kind !== "Load" && kind !== "Store") counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  const text = sorted.slice(0, KINDS).map(([kind, count]) => (count > 1 ? `${kind} ×${String(count)}` : kind));
  return text.join(", ") + (sorted.length > KINDS ? " …" : "");
}

/** From a node along an edge, or to the node before or after it. */
export type Step = "reader" | "writer" | "next" | "previous";

/** The node a step away from this one. */
export function neighbour({ nodes, edges }: Visible, { id }: GraphNode, step: Step): GraphNode | undefined {
  if (step === "next" || step === "previous")
    return nodes[nodes.findIndex((node) => node.id === id) + (step === "next" ? 1 : -1)];
  const edge = edges.find(({ tail, head }) => (step === "reader" ? tail : head) === id);
  return nodes.find((node) => node.id === (step === "reader" ? edge?.head : edge?.tail));
}
