/** Where the nodes and edges of the graph are drawn. */
import { Graph, layout } from "@dagrejs/dagre";
import type { OpGraph } from "./model";

export const NODE = { width: 168, height: 44 } as const;
/** From this size on a quicker way of ranking, which leaves edges a little longer. */
const LARGE = 1000;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Placed {
  readonly width: number;
  readonly height: number;
  /** Middle of each node, by id. */
  readonly nodes: ReadonlyMap<string, Point>;
  readonly edges: readonly { readonly tail: string; readonly head: string; readonly points: readonly Point[] }[];
}

export function place({ nodes, edges }: OpGraph): Placed {
  const graph = new Graph();
  graph.setGraph({ nodesep: 18, ranksep: 30, marginx: 12, marginy: 12, ranker: nodes.length > LARGE ? "tight-tree" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...NODE });
  for (const { tail, head } of edges) graph.setEdge(tail, head);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const middle = (id: string): [string, Point] => {
    const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
    return [id, { x, y }];
  };
  return {
    width,
    height,
    nodes: new Map(nodes.map(({ id }) => middle(id))),
    edges: graph.edges().map((edge: { v: string; w: string }) => ({ tail: edge.v, head: edge.w, points: (graph.edge(edge) as { points?: Point[] }).points ?? [] })),
  };
}
