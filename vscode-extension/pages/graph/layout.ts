/** Layout of the graph: positions of nodes, edges and frames. */
import { Graph, layout } from "@dagrejs/dagre";
import type { Graph as OpGraph, GraphNode } from "../../src/protocol/generated";
import { t } from "../shared/l10n";
import { layers } from "./layers";

/** Pixels of a box. */
export const NODE = { width: 168, height: 44 } as const;
/** Pixels between boxes of a rank, between ranks, and around the graph. */
export const SPACING = { nodesep: 18, ranksep: 30, marginx: 12, marginy: 20 } as const;
/** Number of nodes up to which they are laid out frame by frame; beyond, that takes too long for a page. */
const FRAMED_NODES = 260;
/** Pixels from nodes to the frame around them, where frames are drawn afterwards. */
const FRAME_PADDING = 16;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A frame around nodes: a subnet, or in it a layer group; the frames around others come before those in them. */
export interface Frame {
  readonly kind: "subnet" | "group";
  readonly title: string;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly frames: readonly Frame[];
  /** Middle of each node, by id. */
  readonly nodes: ReadonlyMap<string, Point>;
  readonly edges: readonly { readonly tail: string; readonly head: string; readonly points: readonly Point[] }[];
}

export function place({ nodes, edges }: Pick<OpGraph, "nodes" | "edges">): Placed {
  if (nodes.length > FRAMED_NODES) return quickly({ nodes, edges });
  const graph = new Graph({ compound: true });
  graph.setGraph({ ...SPACING, ranker: "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  const frames = framesOf(nodes);
  for (const node of nodes) graph.setNode(node.id, { ...NODE });
  for (const { id, parent } of frames) {
    graph.setNode(id, {});
    if (parent !== undefined) graph.setParent(id, parent);
  }
  for (const node of nodes) graph.setParent(node.id, node.group === null ? subnetId(node) : groupId(node));
  for (const { tail, head } of edges) graph.setEdge(tail, head);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const box = (id: string) => {
    const { x = 0, y = 0, width = 0, height = 0 } = graph.node(id) as Partial<Point & Frame>;
    return { x, y, width, height };
  };
  const middles = new Map<string, Point>(nodes.map(({ id }) => [id, box(id)]));
  return {
    width,
    height,
    frames: frames.map(({ id, kind, title }) => {
      const { x, y, width, height } = box(id);
      return { kind, title, left: x - width / 2, top: y - height / 2, width, height };
    }),
    nodes: middles,
    edges: graph.edges().map((edge: { v: string; w: string }) => ({
      tail: edge.v,
      head: edge.w,
      points: (graph.edge(edge) as { points?: Point[] }).points ?? [],
    })),
  };
}

/** Of large graphs: edges straight from node to node. */
function quickly({ nodes, edges }: Pick<OpGraph, "nodes" | "edges">): Placed {
  const found = layers({ nodes, edges });
  const end = (id: string, side: number) => {
    const { x, y } = found.nodes.get(id) ?? { x: 0, y: 0 };
    return { x, y: y + (side * NODE.height) / 2 };
  };
  return {
    ...found,
    frames: framesOf(nodes).flatMap((frame) => around(frame, nodes, found.nodes)),
    edges: edges.map(({ tail, head }) => ({ tail, head, points: [end(tail, 1), end(head, -1)] })),
  };
}

interface Wanted {
  readonly id: string;
  readonly kind: Frame["kind"];
  readonly title: string;
  readonly parent?: string;
}

/** A frame around nodes that lie wherever they lie; none where others lie between them. */
function around(
  { id, kind, title }: Wanted,
  nodes: readonly GraphNode[],
  middles: ReadonlyMap<string, Point>,
): Frame[] {
  const isOurs = (node: GraphNode) => (kind === "subnet" ? subnetId(node) : groupId(node)) === id;
  const at = (node: GraphNode) => middles.get(node.id) ?? { x: 0, y: 0 };
  const ours = nodes.filter(isOurs).map(at);
  const [xs, ys] = [ours.map(({ x }) => x), ours.map(({ y }) => y)];
  const left = Math.min(...xs) - NODE.width / 2 - FRAME_PADDING;
  const top = Math.min(...ys) - NODE.height / 2 - FRAME_PADDING;
  const right = Math.max(...xs) + NODE.width / 2 + FRAME_PADDING;
  const bottom = Math.max(...ys) + NODE.height / 2 + FRAME_PADDING;
  const isInside = ({ x, y }: Point) =>
    left < x + NODE.width / 2 &&
    x - NODE.width / 2 < right &&
    top < y + NODE.height / 2 &&
    y - NODE.height / 2 < bottom;
  if (nodes.some((node) => !isOurs(node) && isInside(at(node)))) return [];
  return [{ kind, title, left, top, width: right - left, height: bottom - top }];
}

function framesOf(nodes: readonly GraphNode[]): Wanted[] {
  const subnets = new Map(
    nodes.map((node) => [subnetId(node), { id: subnetId(node), kind: "subnet" as const, title: node.subnet }]),
  );
  const groups = new Map(
    nodes
      .filter(({ group }) => group !== null)
      .map((node) => [
        groupId(node),
        {
          id: groupId(node),
          kind: "group" as const,
          title: t("layer group, line {0}", String(node.group)),
          parent: subnetId(node),
        },
      ]),
  );
  return [...subnets.values(), ...groups.values()];
}

function subnetId({ subnet }: GraphNode): string {
  return `subnet ${subnet}`;
}

function groupId({ subnet, group }: GraphNode): string {
  return `group ${subnet} ${String(group)}`;
}
