/** Sizes of the parts of a graph. */

/** Pixels of a box. */
export const NODE = { width: 168, height: 44 } as const;
/** Pixels between boxes of a rank, between ranks, and around the graph, where frames and their titles are. */
export const SPACING = { nodesep: 18, ranksep: 30, marginx: 24, marginy: 36 } as const;

export interface Point {
  readonly x: number;
  readonly y: number;
}
