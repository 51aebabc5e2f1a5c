/** Which blocks of a graph are open, and what is seen of it then. */
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { blocksOf, visible, WHOLE_NODES, type Block, type Visible } from "./blocks";
import { nameBlocks } from "./names";

export class Folding {
  private readonly blocks: readonly Block[];
  /** The blocks around a node, the outermost first. */
  private readonly blocksAround = new Map<string, Block[]>();
  private open = new Set<string>();

  constructor(private readonly graph: Graph) {
    this.blocks = nameBlocks(graph) ?? blocksOf(graph);
    for (const block of this.blocks)
      for (const { id } of block.nodes) this.blocksAround.set(id, [...(this.blocksAround.get(id) ?? []), block]);
  }

  /** Open all of a small graph, of a large one those around a node. */
  begin(node: GraphNode | undefined): void {
    if (this.graph.nodes.length <= WHOLE_NODES) this.openAll(true);
    else if (node !== undefined) this.openAround(node);
  }

  get shown(): Visible {
    return visible(this.graph, this.blocks, this.open);
  }

  get hasBlocks(): boolean {
    return this.blocks.some(({ nodes }) => nodes.length > 1);
  }

  get isClosed(): boolean {
    return this.open.size === 0;
  }

  openAll(isOpen: boolean): void {
    this.open = new Set(isOpen ? this.blocks.map(({ id }) => id) : []);
  }

  openBlock({ id }: Block): void {
    this.open.add(id);
  }

  /** Open all blocks around a node; whether one was closed. */
  openAround(node: GraphNode): boolean {
    const closed = this.around(node).filter(({ id }) => !this.open.has(id));
    for (const { id } of closed) this.open.add(id);
    return closed.length > 0;
  }

  /** Close the innermost open block around a node, and return it. */
  close(node: GraphNode): Block | undefined {
    const block = [...this.around(node)].reverse().find(({ id }) => this.open.has(id));
    if (block !== undefined) this.open.delete(block.id);
    return block;
  }

  /** The node of what is `shown` that stands for this one: itself, or that of a closed block. */
  standIn(node: GraphNode | undefined, { nodes, closed }: Visible): GraphNode | undefined {
    if (node === undefined) return undefined;
    const block = this.around(node).find(({ id }) => closed.has(id));
    return nodes.find(({ id }) => id === (block?.id ?? node.id));
  }

  /** Blocks around a node that can be closed, the outermost first. */
  private around({ id }: GraphNode): readonly Block[] {
    return (this.blocksAround.get(id) ?? []).filter(({ nodes }) => nodes.length > 1);
  }
}
