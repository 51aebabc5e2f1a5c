/** The graph as it is drawn: boxes and arrows that can be moved, zoomed, chosen, and walked along with the arrow keys. */
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { blocksOf, neighbour, visible, WHOLE_NODES, type Block, type Visible } from "./blocks";
import { Camera, contains, grown, type Sight } from "./camera";
import { labelsOf } from "../shared/text";
import { arrow, farElements, LETTERS } from "./elements";
import { place, type Placed } from "./layout";
import { Minimap } from "./minimap";
import { combined, type Paint } from "./model";
import { savedText } from "./saving";
import { sceneElements } from "./scene";
import { listen } from "./walking";

/** Scales of the picture: what its texts can be read from, and below which boxes have none. */
const SCALE = { far: 0.3, readable: 0.8 } as const;
/** Nodes up to which all have their elements, wherever they are. */
const ALL_ELEMENTS = 400;

export interface Listener {
  chosen(node: GraphNode, block: Block | undefined): void;
  opened(node: GraphNode): void;
  /** Other nodes are drawn than before. */
  changed(): void;
  /** The search field is wanted. */
  search(): void;
}

export class Picture {
  readonly element = html("div", { class: "picture" });
  private readonly surface = svg("svg", {
    role: "application",
    tabindex: 0,
    "aria-label": t(
      "Graph of the ops. Arrow keys follow the edges and go sideways, Enter goes to the line or opens a block, F folds the block, slash searches, plus and minus zoom.",
    ),
  });
  private readonly world = svg("g");
  private readonly minimap = new Minimap((x, y) => {
    this.camera.centre({ x, y });
    this.move();
  });
  private graph: Graph = { nodes: [], edges: [], currentLines: [] };
  private labels: ReadonlyMap<string, string> = new Map();
  private blocks: readonly Block[] = [];
  private open = new Set<string>();
  private shown: Visible = { nodes: [], edges: [], closed: new Map() };
  private placed: Placed | undefined;
  private selected: GraphNode | undefined;
  private current: readonly number[] = [];
  private paintOf: (node: GraphNode) => Paint = ({ color, note }) => ({ color, note });
  private combine = combined("dtype");
  /** What elements have been made for. */
  private made: (Sight & { readonly isFar: boolean }) | undefined;
  private readonly camera = new Camera(this.element);

  constructor(private readonly listener: Listener) {
    this.surface.append(svg("defs", {}, arrow()), this.world);
    this.element.append(this.surface, this.minimap.element);
    new ResizeObserver(() => {
      this.move();
    }).observe(this.element);
    listen(this.surface, {
      pan: (x, y) => {
        this.camera.pan(x, y);
        this.move();
      },
      zoom: (factor, x, y) => {
        this.zoom(factor, x, y);
      },
      press: (id) => {
        const node = this.shown.nodes.find((one) => one.id === id);
        if (node === undefined) return;
        this.select(node);
        this.enter(node);
      },
      walk: (step) => {
        const node = this.selected === undefined ? this.start() : neighbour(this.shown, this.selected, step);
        if (node !== undefined) this.select(node);
      },
      enter: () => {
        if (this.selected !== undefined) this.enter(this.selected);
      },
      fold: () => {
        if (this.selected !== undefined) this.fold(this.selected);
      },
      fit: () => {
        this.fit();
      },
      search: () => {
        this.listener.search();
      },
    });
  }

  /** Blocks of a large graph are closed, but for the first one and that of the ops that run next. */
  show(graph: Graph): void {
    this.graph = graph;
    this.labels = labelsOf(
      graph.nodes.map(({ name }) => name),
      LETTERS,
    );
    this.blocks = blocksOf(graph);
    this.selected = undefined;
    const isWhole = graph.nodes.length <= WHOLE_NODES;
    const first = this.blockOf((node) => graph.currentLines.includes(node.line)) ?? this.blocks[0];
    this.open = new Set(isWhole ? this.blocks.map(({ id }) => id) : first ? [first.id] : []);
    this.lay();
    this.fit();
    if (this.camera.scale < SCALE.readable) this.zoom(SCALE.readable / this.camera.scale); // then a part of it; `mark` chooses which
    const start = this.nodeShown(first?.nodes[0]);
    if (start !== undefined) this.reveal(start, true);
  }

  get isWhole(): boolean {
    return this.shown.closed.size === 0;
  }

  get hasBlocks(): boolean {
    return this.blocks.some(({ nodes }) => nodes.length > 1);
  }

  /** Open all blocks, or close all but that of what is selected. */
  openAll(isOpen: boolean): void {
    const kept = this.selected ?? this.currentNode();
    this.open = new Set(isOpen ? this.blocks.map(({ id }) => id) : []);
    this.lay();
    const node = this.nodeShown(kept);
    if (node !== undefined) this.reveal(node, true);
  }

  /** `combine`: the paint of a closed block of those of its ops. */
  paint(paint: (node: GraphNode) => Paint, combine: (paints: readonly Paint[]) => Paint): void {
    this.paintOf = paint;
    this.combine = combine;
    this.made = undefined;
    this.drawMinimap();
    this.move();
  }

  /** Mark the ops that run next, and make the first of them visible. */
  mark(lines: readonly number[]): void {
    this.current = lines;
    const node = this.currentNode();
    if (node !== undefined) this.unfold(node);
    this.made = undefined;
    if (node !== undefined) this.reveal(node);
    else this.move();
  }

  select(node: GraphNode): void {
    if (!this.shown.closed.has(node.id)) this.unfold(node);
    this.selected = node;
    this.made = undefined;
    this.reveal(node);
    this.listener.chosen(node, this.shown.closed.get(node.id));
  }

  /** Close the block of a node. */
  fold(node: GraphNode): void {
    const block = this.blockOf(({ id }) => id === node.id);
    if (block === undefined || !this.open.delete(block.id)) return;
    this.keeping(node, () => {
      this.lay();
    });
    const shown = this.nodeShown(node);
    if (shown !== undefined) this.select(shown);
  }

  /** Open a block, and choose its first op. */
  unfoldBlock(block: Block): void {
    const [first] = block.nodes;
    if (first !== undefined) this.select(first);
  }

  /** `x`, `y`: pixels of what stays where it is, default: the middle. */
  zoom(factor: number, x?: number, y?: number): void {
    this.camera.zoom(factor, x, y);
    this.move();
  }

  fit(): void {
    this.camera.fit(this.placed ?? { width: 1, height: 1 });
    this.move();
  }

  focus(): void {
    this.surface.focus();
  }

  /** The whole picture, with the colours that the page's style gives it. */
  svgText(): string {
    return savedText(this.placed ?? { width: 1, height: 1 }, this.elements(undefined), this.element);
  }

  private blockOf(is: (node: GraphNode) => boolean): Block | undefined {
    return this.blocks.find(({ nodes }) => nodes.some(is));
  }

  private currentNode(): GraphNode | undefined {
    return this.graph.nodes.find(({ line, opcode }) => opcode !== "input" && this.current.includes(line));
  }

  /** The node that stands for this one: itself, or its closed block. */
  private nodeShown(node: GraphNode | undefined): GraphNode | undefined {
    const block = node && this.blockOf(({ id }) => id === node.id);
    return this.shown.nodes.find(({ id }) => id === node?.id || (id === block?.id && this.shown.closed.has(id)));
  }

  private unfold(node: GraphNode): void {
    const block = this.blockOf(({ id }) => id === node.id);
    if (block === undefined || !this.shown.closed.has(block.id)) return;
    this.open.add(block.id);
    this.keeping(node, () => {
      this.lay();
    });
  }

  /** Something that moves boxes, after which this one is where it was. */
  private keeping(node: GraphNode, change: () => void): void {
    const at = () => {
      const shown = this.nodeShown(node);
      return shown && this.placed?.nodes.get(shown.id);
    };
    const before = at();
    change();
    const after = at();
    if (before === undefined || after === undefined) return;
    this.camera.follow(before, after);
    this.move();
  }

  private lay(): void {
    this.shown = visible(this.graph, this.blocks, this.open);
    this.placed = place(this.shown);
    this.made = undefined;
    this.drawMinimap();
    this.listener.changed();
  }

  private drawMinimap(): void {
    if (this.placed !== undefined)
      this.minimap.show(this.placed, this.shown.nodes, (node) => this.paintShown(node).color);
  }

  private paintShown(node: GraphNode): Paint {
    const block = this.shown.closed.get(node.id);
    return block === undefined ? this.paintOf(node) : this.combine(block.nodes.map(this.paintOf));
  }

  private move(): void {
    this.world.setAttribute("transform", this.camera.transform);
    this.minimap.look(this.camera.sight);
    this.make();
  }

  /** Make the elements of what is in sight, unless they are there. */
  private make(): void {
    const { made, placed } = this;
    const { sight, scale } = this.camera;
    if (placed === undefined) return;
    const isFar = scale < SCALE.far && this.shown.nodes.length > ALL_ELEMENTS;
    if (made?.isFar === isFar && contains(made, sight)) return;
    const all = { left: -Infinity, top: -Infinity, width: Infinity, height: Infinity };
    const area = isFar || this.shown.nodes.length <= ALL_ELEMENTS ? all : grown(sight);
    this.made = { ...area, isFar };
    this.world.replaceChildren(
      ...(isFar
        ? farElements(placed, this.shown.nodes, (node) => this.paintShown(node).color)
        : this.elements(area === all ? undefined : area)),
    );
  }

  private elements(area: Sight | undefined): SVGElement[] {
    const { placed, shown, selected, current, labels } = this;
    if (placed === undefined) return [];
    return sceneElements({ placed, shown, selected, current, labels, paint: (node) => this.paintShown(node) }, area);
  }

  /** `always`: into the middle, even if it is in sight. */
  private reveal(node: GraphNode, always = false): void {
    const at = this.placed?.nodes.get(node.id);
    if (at === undefined) return;
    this.camera.reveal(at, always);
    this.move();
  }

  private start(): GraphNode | undefined {
    return this.nodeShown(this.currentNode()) ?? this.shown.nodes[0];
  }

  private enter(node: GraphNode): void {
    const block = this.shown.closed.get(node.id);
    if (block === undefined) this.listener.opened(node);
    else this.unfoldBlock(block);
  }
}
