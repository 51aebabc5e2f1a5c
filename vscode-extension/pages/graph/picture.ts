/** The graph as it is drawn: boxes and arrows that can be moved, zoomed, chosen, and walked along with the arrow keys. */
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { badged, type Badged } from "./badges";
import { neighbour, type Block, type Visible } from "./blocks";
import { Camera } from "./camera";
import { arrow, LETTERS } from "./elements";
import { labelsIn } from "./labels";
import { place, type Placed } from "./layout";
import { Folding } from "./folding";
import type { Listener } from "./listener";
import { Minimap } from "./minimap";
import { combined, type Paint } from "./model";
import { savedText } from "./saving";
import { sceneElements, type Scene } from "./scene";
import { listen } from "./walking";
import { World } from "./world";

/** Scales of the picture: from which its texts can be made out, and read with ease. */
const SCALE = { legible: 0.45, readable: 0.8 } as const;

export class Picture {
  readonly element = html("div", { class: "picture" });
  private readonly surface = svg("svg", {
    role: "application",
    tabindex: 0,
    "aria-label": t(
      "Graph of the ops. Arrow keys follow the edges and go sideways, Enter goes to the line or opens a block, F folds the block, slash searches, plus and minus zoom.",
    ),
  });
  private readonly world = new World();
  private readonly minimap = new Minimap((x, y) => {
    this.camera.centre({ x, y });
    this.move();
  });
  /** Without the loads of weights, which are badges. */
  private graph: Graph = { nodes: [], edges: [], currentLines: [] };
  private badges: Badged["badges"] = new Map();
  private readers: Badged["readers"] = new Map();
  private labels: ReadonlyMap<string, string> = new Map();
  private folding = new Folding(this.graph);
  /** Whether all is in sight, in columns. */
  private isOverview = false;
  private shown: Visible = { nodes: [], edges: [], closed: new Map() };
  private placed: Placed | undefined;
  private selected: GraphNode | undefined;
  private current: readonly number[] = [];
  private paintOf: (node: GraphNode) => Paint = ({ color, note }) => ({ color, note });
  private combine = combined("dtype");
  private readonly camera = new Camera(this.element);

  constructor(private readonly listener: Listener) {
    this.surface.append(svg("defs", {}, arrow()), this.world.element);
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
    this.labels = labelsIn(this.graph.nodes, LETTERS);
    this.folding = new Folding(this.graph);
    this.selected = undefined;
    this.current = graph.currentLines;
    this.isOverview = false;
    const start = this.currentNode() ?? this.graph.nodes[0];
    this.folding.begin(start);
    this.layAndFit();
    this.makeReadable(start); // then a part of it; `mark` chooses which
  }

  get isWhole(): boolean {
    return this.shown.closed.size === 0;
  }

  get hasBlocks(): boolean {
    return this.folding.hasBlocks;
  }

  /** Open all blocks, or close all but that of what is selected. */
  openAll(isOpen: boolean): void {
    const kept = this.selected ?? this.currentNode();
    this.isOverview = false;
    this.folding.openAll(isOpen);
    this.lay();
    this.centre(kept);
  }

  /** `combine`: the paint of a closed block of those of its ops. */
  paint(paint: (node: GraphNode) => Paint, combine: (paints: readonly Paint[]) => Paint): void {
    this.paintOf = paint;
    this.combine = combine;
    this.world.forget();
    this.drawMinimap();
    this.move();
  }

  /** Mark the ops that run next, and make the first of them visible. */
  mark(lines: readonly number[]): void {
    this.current = lines;
    const node = this.currentNode();
    if (node !== undefined) this.unfold(node);
    this.world.forget();
    if (node !== undefined) this.reveal(node);
    else this.move();
  }

  /** Of a load of weights, the op that reads them. */
  select(node: GraphNode): void {
    const found = this.readers.get(node.id) ?? node;
    if (!this.shown.closed.has(found.id)) this.unfold(found);
    this.selected = found;
    this.world.forget();
    this.reveal(found);
    this.listener.chosen(found, this.shown.closed.get(found.id));
  }

  /** Close the innermost block of a node that is open. */
  fold(node: GraphNode): void {
    const block = this.folding.close(node);
    if (block === undefined) return;
    this.layAgain(node);
    const shown = this.nodeShown(node);
    if (shown !== undefined) this.select(shown);
  }

  /** Open a block, and choose the first that is in it. */
  unfoldBlock(block: Block): void {
    const [first] = block.nodes;
    if (first === undefined) return;
    this.folding.openBlock(block);
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
    this.layAndFit();
    if (this.camera.scale < SCALE.legible && !this.isWhole && !this.folding.isClosed) {
      this.folding.openAll(false);
      this.layAndFit();
    }
    this.move();
  }

  focus(): void {
    this.surface.focus();
  }

  /** The whole picture, with the colours that the page's style gives it. */
  svgText(): string {
    const { placed } = this;
    return placed === undefined ? "" : savedText(placed, sceneElements(this.scene(placed), undefined), this.element);
  }

  /** Of a load of weights that runs next, the op that reads them. */
  private currentNode(): GraphNode | undefined {
    const isCurrent = ({ line, opcode }: GraphNode) => opcode !== "input" && this.current.includes(line);
    return this.graph.nodes.find((node) => isCurrent(node) || this.badges.get(node.id)?.some(isCurrent) === true);
  }

  /** The node that stands for this one: itself, or its closed block. */
  private nodeShown(node: GraphNode | undefined): GraphNode | undefined {
    return this.folding.standIn(node, this.shown);
  }

  private unfold(node: GraphNode): void {
    if (this.folding.openAround(node)) this.layAgain(node);
  }

  /** With other blocks open than before; this node stays where it is, unless all was in sight. */
  private layAgain(node: GraphNode): void {
    const wasOverview = this.isOverview;
    this.isOverview = false;
    const at = () => this.placed?.nodes.get(this.nodeShown(node)?.id ?? "");
    const before = at();
    this.lay();
    const after = at();
    if (!wasOverview && before !== undefined && after !== undefined) this.camera.follow(before, after);
    if (!wasOverview) this.move();
    else this.makeReadable(node);
  }

  /** Large enough, with what stands for a node in the middle; nothing moves where all is in sight at that size. */
  private makeReadable(node: GraphNode | undefined): void {
    if (this.camera.scale >= SCALE.readable) {
      this.move();
      return;
    }
    this.camera.zoom(SCALE.readable / this.camera.scale);
    this.centre(node);
  }

  private lay(): void {
    this.shown = this.folding.shown;
    const { clientWidth: width, clientHeight: height } = this.element;
    this.placed = place(this.shown, this.isOverview ? { width, height } : undefined);
    this.world.forget();
    this.drawMinimap();
    this.listener.changed();
  }

  private layAndFit(): void {
    this.lay();
    if (this.placed !== undefined) this.camera.fit(this.placed);
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
    this.minimap.look(this.camera.sight);
    if (this.placed !== undefined) this.world.draw(this.scene(this.placed), this.camera);
  }

  private scene(placed: Placed): Scene {
    const { shown, selected, current, labels, badges } = this;
    return { placed, shown, selected, current, labels, badges, paint: (node) => this.paintShown(node) };
  }

  /** `always`: into the middle, even if it is in sight. */
  private reveal(node: GraphNode, always = false): void {
    const at = this.placed?.nodes.get(node.id);
    if (at === undefined) return;
    this.camera.reveal(at, always);
    this.move();
  }

  /** Bring what stands for a node into the middle. */
  private centre(node: GraphNode | undefined): void {
    const shown = this.nodeShown(node);
    if (shown === undefined) this.move();
    else this.reveal(shown, true);
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
