/** What a page hears of its picture of a graph. */
import type { GraphNode } from "../../src/protocol/generated";
import type { Block } from "./blocks";

export interface Listener {
  chosen(node: GraphNode, block: Block | undefined): void;
  opened(node: GraphNode): void;
  /** Other nodes are drawn than before. */
  changed(): void;
  /** The search field is wanted. */
  search(): void;
}
