/** Layout of the graph: positions of nodes, edges and frames. */
import type { Graph } from "../../src/protocol/generated";
import { columns, type Room } from "./columns";
import { frames, type Frame } from "./frames";
import { layers, type Layers } from "./layers";

export interface Placed extends Layers {
  readonly frames: readonly Frame[];
}

/** `room`: of a window in which all of it is to be seen; default: it is scrolled in. */
export function place({ nodes, edges }: Pick<Graph, "nodes" | "edges">, room?: Room): Placed {
  const long = layers({ nodes, edges });
  const placed = room === undefined ? long : columns(long, room);
  return { ...placed, frames: frames(nodes, placed.nodes) };
}
