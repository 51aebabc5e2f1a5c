/** The graph as it is drawn: boxes and arrows that can be moved, zoomed, chosen, and walked along with the arrow keys. */
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { badged, type Badged } from "./badges";
import { blocksOf, neighbour, visible, WHOLE_NODES, type Block, type Visible } from "./blocks";
import { Camera, contains, grown, type Sight } from "./camera";
import { labelsOf } from "../shared/text";
import { arrow, farElements, LETTERS } from "./elements";
import { place, type Placed } from "./layout";
import { Minimap } from "./minimap";
import { combined, type Paint } from "./model";
import { nameBlocks } from "./names";
import { savedText } from "./saving";
import { sceneElements } from "./scene";
import { listen } from "./walking";

/** Scales of the picture: what its texts can be read from, made out from, and below which boxes have none. */
const SCALE = { far: 0.3, legible: 0.45, readable: 0.8 } as const;
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
  /** Without the loads of weights, which are badges. */
  private graph: Graph = { nodes: [], edges: [], currentLines: [] };
  private badges: Badged["badges"] = new Map();
  private readers: Badged["readers"] = new Map();
  private labels: ReadonlyMap<string, string> = new Map();
  private blocks: readonly Block[] = [];
  /** The blocks around a node, the outermost first. */
  private around: ReadonlyMap<string, readonly Block[]> = new Map();
  /** Whether all is in sight, in columns. */
  private isOverview = false;
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

  /** Blocks of a large graph are closed, but for those of the ops that run next, or the first. */
  show(graph: Graph): void {
    const found = badged(graph);
    this.graph = found.graph;
    this.badges = found.badges;
    this.readers = found.readers;
    this.labels = labelsOf(
      this.graph.nodes.map(({ name }) => name),
      LETTERS,
    );
    this.blocks = nameBlocks(this.graph) ?? blocksOf(this.graph);
    const around = new Map<string, Block[]>();
    for (const block of this.blocks)
      for (const { id } of block.nodes) around.set(id, [...(around.get(id) ?? []), block]);
    this.around = around;
    this.selected = undefined;
    this.current = graph.currentLines;
    this.isOverview = false;
    const isWhole = this.graph.nodes.length <= WHOLE_NODES;
    const start = this.currentNode() ?? this.graph.nodes[0];
    const open = isWhole ? this.blocks : start === undefined ? [] : this.blocksAround(start);
    this.open = new Set(open.map(({ id }) => id));
    this.lay();
    this.camera.fit(this.placed ?? { width: 1, height: 1 });
    this.makeReadable(); // then a part of it; `mark` chooses which
    const shown = this.nodeShown(start);
    if (shown !== undefined) this.reveal(shown, true);
    else this.move();
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
    this.isOverview = false;
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

  /** Of a load of weights, the op that reads them. */
  select(node: GraphNode): void {
    const found = this.readers.get(node.id) ?? node;
    if (!this.shown.closed.has(found.id)) this.unfold(found);
    this.selected = found;
    this.made = undefined;
    this.reveal(found);
    this.listener.chosen(found, this.shown.closed.get(found.id));
  }

  /** Close the innermost block of a node that is open. */
  fold(node: GraphNode): void {
    const block = [...this.blocksAround(node)].reverse().find(({ id }) => this.open.has(id));
    if (block === undefined) return;
    this.open.delete(block.id);
    this.layAgain(block.nodes[0] ?? node);
    const shown = this.nodeShown(block.nodes[0]);
    if (shown !== undefined) this.select(shown);
  }

  /** Open a block, and choose the first that is in it. */
  unfoldBlock(block: Block): void {
    const [first] = block.nodes;
    if (first === undefined) return;
    this.open.add(block.id);
    this.layAgain(first);
    const shown = this.nodeShown(first);
    if (shown !== undefined) this.select(shown);
  }

  /** `x`, `y`: pixels of what stays where it is, default: the middle. */
  zoom(factor: number, x?: number, y?: number): void {
    this.camera.zoom(factor, x, y);
    this.move();
  }

  /** Show everything, in columns; where that is too small to be made out, with blocks closed. */
  fit(): void {
    this.isOverview = true;
    this.lay();
    this.camera.fit(this.placed ?? { width: 1, height: 1 });
    if (this.camera.scale < SCALE.legible && !this.isWhole && this.open.size > 0) {
      this.open = new Set();
      this.lay();
      this.camera.fit(this.placed ?? { width: 1, height: 1 });
    }
    this.move();
  }

  focus(): void {
    this.surface.focus();
  }

  /** The whole picture, with the colours that the page's style gives it. */
  svgText(): string {
    return savedText(this.placed ?? { width: 1, height: 1 }, this.elements(undefined), this.element);
  }

  /** Blocks that can be closed around a node, the outermost first. */
  private blocksAround({ id }: GraphNode): readonly Block[] {
    return (this.around.get(id) ?? []).filter(({ nodes }) => nodes.length > 1);
  }

  /** Of a load of weights that runs next, the op that reads them. */
  private currentNode(): GraphNode | undefined {
    const isCurrent = ({ line, opcode }: GraphNode) => opcode !== "input" && this.current.includes(line);
    return this.graph.nodes.find((node) => isCurrent(node) || this.badges.get(node.id)?.some(isCurrent) === true);
  }

  /** The node that stands for this one: itself, or its closed block. */
  private nodeShown(node: GraphNode | undefined): GraphNode | undefined {
    if (node === undefined) return undefined;
    const block = this.blocksAround(node).find(({ id }) => this.shown.closed.has(id));
    return this.shown.nodes.find(({ id }) => id === (block?.id ?? node.id));
  }

  private unfold(node: GraphNode): void {
    const closed = this.blocksAround(node).filter(({ id }) => !this.open.has(id));
    if (closed.length === 0) return;
    for (const { id } of closed) this.open.add(id);
    this.layAgain(node);
  }

  /** With other blocks open than before; this node stays where it is, unless all was in sight. */
  private layAgain(node: GraphNode): void {
    const wasOverview = this.isOverview;
    this.isOverview = false;
    this.keeping(node, () => {
      this.lay();
    });
    if (!wasOverview) return;
    this.makeReadable();
    const shown = this.nodeShown(node);
    if (shown !== undefined) this.reveal(shown, true);
  }

  private makeReadable(): void {
    if (this.camera.scale < SCALE.readable) this.camera.zoom(SCALE.readable / this.camera.scale);
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
    const { clientWidth: width, clientHeight: height } = this.element;
    this.placed = place(this.shown, this.isOverview ? { width, height } : undefined);
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
    const members = (block?.nodes ?? [node]).flatMap((one) => [one, ...(this.badges.get(one.id) ?? [])]);
    const paints = members.map(this.paintOf);
    const culprit = paints.find(({ isCulprit }) => isCulprit);
    return culprit ?? (block === undefined ? this.paintOf(node) : this.combine(block.nodes.map(this.paintOf)));
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
    const { placed, shown, selected, current, labels, badges } = this;
    if (placed === undefined) return [];
    const paint = (node: GraphNode) => this.paintShown(node);
    return sceneElements({ placed, shown, selected, current, labels, badges, paint }, area);
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
