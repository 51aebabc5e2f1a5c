/** Layout of the graph: positions of nodes, edges and frames. */
import type { Graph } from "../../src/protocol/generated";
import { frames, type Frame } from "./frames";
import { layers, type Layers } from "./layers";

export interface Placed extends Layers {
  readonly frames: readonly Frame[];
}

export function place({ nodes, edges }: Pick<Graph, "nodes" | "edges">): Placed {
  const placed = layers({ nodes, edges });
  return { ...placed, frames: frames(nodes, placed.nodes) };
}
