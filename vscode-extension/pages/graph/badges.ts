/** Loads of weights: marks on the ops that read them, instead of boxes of their own. */
import type { Graph, GraphNode } from "../../src/protocol/generated";

export interface Badged {
  readonly graph: Graph;
  /** Loads by the id of an op that reads them. */
  readonly badges: ReadonlyMap<string, readonly GraphNode[]>;
  /** The first reader by the id of a load. */
  readonly readers: ReadonlyMap<string, GraphNode>;
}

/** A load of weights reads nothing that the graph has; where weights are shown, they and their loads are boxes. */
export function badged(graph: Graph): Badged {
  const reading = new Set(graph.edges.map(({ head }) => head));
  const loads = new Map(
    graph.nodes.filter(({ id, opcode }) => opcode === "tpu.Load" && !reading.has(id)).map((node) => [node.id, node]),
  );
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const badges = new Map<string, GraphNode[]>();
  const readers = new Map<string, GraphNode>();
  for (const { tail, head } of graph.edges) {
    const [load, reader] = [loads.get(tail), nodes.get(head)];
    if (load === undefined || reader === undefined) continue;
    badges.set(head, [...(badges.get(head) ?? []), load]);
    if (!readers.has(tail)) readers.set(tail, reader);
  }
  return {
    graph: {
      ...graph,
      nodes: graph.nodes.filter(({ id }) => !readers.has(id)),
      edges: graph.edges.filter(({ tail }) => !readers.has(tail)),
    },
    badges,
    readers,
  };
}
