/** The graph as it is drawn: boxes and arrows that can be moved, zoomed, chosen, and walked along with the arrow keys. */
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { blocksOf, visible, WHOLE_NODES, type Block, type Visible } from "./blocks";
import { arrow, boxElement, edgeElement, farElements, frameElement } from "./elements";
import { NODE, place, type Placed, type Point } from "./layout";
import { Minimap, type Sight } from "./minimap";
import { combined, type Paint } from "./model";

/** Scales of the picture: the limits, what its texts can be read from, and where boxes have none. */
const SCALE = { least: 0.01, far: 0.3, readable: 0.8, most: 3 } as const;
/** By a key or a button, and by a step of the wheel. */
export const KEY_ZOOM = 1.25;
const WHEEL_ZOOM = 1.15;
/** Nodes up to which all have their elements, wherever they are. */
const ALL_ELEMENTS = 400;
/** Elements are made for what is in sight and as much again on each side. */
const MARGIN = 1;
/** The pointer drags when it has moved this far. */
const DRAGGED = 3;

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
    this.centre(x, y);
  });
  private graph: Graph = { nodes: [], edges: [], currentLines: [] };
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
  private x = 0;
  private y = 0;
  private scale = 1;

  constructor(private readonly listener: Listener) {
    this.surface.append(svg("defs", {}, arrow()), this.world);
    this.element.append(this.surface, this.minimap.element);
    this.surface.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.surface.getBoundingClientRect();
      this.zoom(WHEEL_ZOOM ** -Math.sign(event.deltaY), event.clientX - box.left, event.clientY - box.top);
    });
    this.surface.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && this.pressed(event.key)) event.preventDefault();
    });
    new ResizeObserver(() => {
      this.move();
    }).observe(this.element);
    this.drag();
  }

  /** Blocks of a large graph are closed, but for the first one and that of the ops that run next. */
  show(graph: Graph): void {
    this.graph = graph;
    this.blocks = blocksOf(graph);
    this.selected = undefined;
    const isWhole = graph.nodes.length <= WHOLE_NODES;
    const first = this.blockOf((node) => graph.currentLines.includes(node.line)) ?? this.blocks[0];
    this.open = new Set(isWhole ? this.blocks.map(({ id }) => id) : first ? [first.id] : []);
    this.lay();
    this.fit();
    if (this.scale < SCALE.readable) this.zoom(SCALE.readable / this.scale); // then a part of it; `mark` chooses which
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

  zoom(factor: number, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2): void {
    const scale = Math.min(Math.max(this.scale * factor, SCALE.least), SCALE.most);
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.move();
  }

  fit(): void {
    const { width, height } = this.placed ?? { width: 1, height: 1 };
    const scale = Math.min(this.element.clientWidth / width, this.element.clientHeight / height, 1);
    this.scale = Math.max(scale, SCALE.least);
    this.x = (this.element.clientWidth - width * this.scale) / 2;
    this.y = 0;
    this.move();
  }

  focus(): void {
    this.surface.focus();
  }

  /** The whole picture, with the colours that the page's style gives it. */
  svgText(): string {
    const { width, height } = this.placed ?? { width: 1, height: 1 };
    const copy = svg("svg", {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${String(width)} ${String(height)}`,
      width,
      height,
    });
    const marker = arrow();
    copy.append(svg("defs", {}, marker), ...this.elements(undefined));
    this.element.append(copy); // styles are computed only of what is in the page
    for (const element of copy.querySelectorAll<SVGElement>("*")) {
      const style = getComputedStyle(element);
      for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-weight", "fill-opacity"])
        element.style.setProperty(name, style.getPropertyValue(name));
      element.style.fontFamily = "sans-serif";
    }
    copy.remove();
    return new XMLSerializer().serializeToString(copy);
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
    this.x += (before.x - after.x) * this.scale;
    this.y += (before.y - after.y) * this.scale;
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

  private get sight(): Sight {
    const { clientWidth, clientHeight } = this.element;
    return {
      left: -this.x / this.scale,
      top: -this.y / this.scale,
      width: clientWidth / this.scale,
      height: clientHeight / this.scale,
    };
  }

  private move(): void {
    this.world.setAttribute("transform", `translate(${String(this.x)} ${String(this.y)}) scale(${String(this.scale)})`);
    this.minimap.look(this.sight);
    this.make();
  }

  /** Make the elements of what is in sight, unless they are there. */
  private make(): void {
    const { sight, made, placed } = this;
    if (placed === undefined) return;
    const isFar = this.scale < SCALE.far && this.shown.nodes.length > ALL_ELEMENTS;
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

  /** Frames, edges and boxes; `area`: of those that reach into it. */
  private elements(area: Sight | undefined): SVGElement[] {
    const { placed } = this;
    if (placed === undefined) return [];
    const inside = ({ x, y }: Point) =>
      area === undefined ||
      (Math.abs(x - area.left - area.width / 2) <= (area.width + NODE.width) / 2 &&
        Math.abs(y - area.top - area.height / 2) <= (area.height + NODE.height) / 2);
    const edges = placed.edges.filter(({ points }) => points.some(inside)).map(edgeElement);
    for (const edge of edges)
      edge.classList.toggle(
        "selected",
        edge.dataset.tail === this.selected?.id || edge.dataset.head === this.selected?.id,
      );
    const boxes = this.shown.nodes.flatMap((node) => {
      const at = placed.nodes.get(node.id);
      return at !== undefined && inside(at) ? [this.box(node, at)] : [];
    });
    return [...placed.frames.map(frameElement), ...edges, ...boxes];
  }

  private box(node: GraphNode, at: Point): SVGElement {
    const block = this.shown.closed.get(node.id);
    const box = boxElement(node, at, this.paintShown(node), block?.nodes.length);
    const members = block?.nodes ?? [node];
    box.classList.toggle(
      "current",
      members.some(({ line, opcode }) => opcode !== "input" && this.current.includes(line)),
    );
    box.classList.toggle("selected", node.id === this.selected?.id);
    return box;
  }

  private centre(x: number, y: number): void {
    this.x = this.element.clientWidth / 2 - x * this.scale;
    this.y = this.element.clientHeight / 2 - y * this.scale;
    this.move();
  }

  /** `always`: into the middle, even if it is in sight. */
  private reveal(node: GraphNode, always = false): void {
    const at = this.placed?.nodes.get(node.id);
    if (at === undefined) return;
    const { left, top, width, height } = this.sight;
    const isAcross = left <= at.x - NODE.width / 2 && at.x + NODE.width / 2 <= left + width;
    const isDown = top <= at.y - NODE.height / 2 && at.y + NODE.height / 2 <= top + height;
    if (always || !isAcross) this.x = this.element.clientWidth / 2 - at.x * this.scale;
    // Nothing is above the first op: what is below it is of more use than empty space.
    if (always || !isDown) this.y = Math.min(this.element.clientHeight / 2 - at.y * this.scale, 0);
    this.move();
  }

  private pressed(key: string): boolean {
    const next = {
      ArrowDown: () => this.along("tail", "head"),
      ArrowUp: () => this.along("head", "tail"),
      ArrowRight: () => this.beside(1),
      ArrowLeft: () => this.beside(-1),
    }[key];
    const node = next?.();
    if (node !== undefined) this.select(node);
    else if (key === "Enter" && this.selected !== undefined) this.enter(this.selected);
    else if (key === "f" && this.selected !== undefined) this.fold(this.selected);
    else if (key === "/") this.listener.search();
    else if (key === "+" || key === "-") this.zoom(key === "+" ? KEY_ZOOM : 1 / KEY_ZOOM);
    else if (key === "Home") this.fit();
    else return next !== undefined;
    return true;
  }

  private enter(node: GraphNode): void {
    const block = this.shown.closed.get(node.id);
    if (block === undefined) this.listener.opened(node);
    else this.unfoldBlock(block);
  }

  private along(from: "tail" | "head", to: "tail" | "head"): GraphNode | undefined {
    if (this.selected === undefined) return this.start();
    const id = this.selected.id;
    const edge = this.shown.edges.find((found) => found[from] === id);
    return this.shown.nodes.find((node) => node.id === edge?.[to]);
  }

  private beside(step: number): GraphNode | undefined {
    const { selected, shown } = this;
    if (selected === undefined) return this.start();
    return shown.nodes[shown.nodes.findIndex(({ id }) => id === selected.id) + step];
  }

  private start(): GraphNode | undefined {
    return this.nodeShown(this.currentNode()) ?? this.shown.nodes[0];
  }

  private drag(): void {
    let last: (Point & { isMoved: boolean }) | undefined;
    this.surface.addEventListener("pointerdown", ({ clientX, clientY }) => {
      last = { x: clientX, y: clientY, isMoved: false };
    });
    this.surface.addEventListener("pointermove", ({ clientX, clientY, buttons }) => {
      if (last === undefined || buttons !== 1) return;
      if (!last.isMoved && Math.hypot(clientX - last.x, clientY - last.y) < DRAGGED) return;
      this.x += clientX - last.x;
      this.y += clientY - last.y;
      last = { x: clientX, y: clientY, isMoved: true };
      this.move();
    });
    this.surface.addEventListener("click", ({ target }) => {
      const id = (target as Element).closest<SVGElement>(".node")?.dataset.id;
      const node = this.shown.nodes.find((one) => one.id === id);
      if (last?.isMoved || node === undefined) return;
      this.select(node);
      this.enter(node);
    });
  }
}

function grown({ left, top, width, height }: Sight): Sight {
  return {
    left: left - MARGIN * width,
    top: top - MARGIN * height,
    width: (1 + 2 * MARGIN) * width,
    height: (1 + 2 * MARGIN) * height,
  };
}

function contains(outer: Sight, inner: Sight): boolean {
  if (outer.width === Infinity) return true;
  return (
    outer.left <= inner.left &&
    outer.top <= inner.top &&
    outer.left + outer.width >= inner.left + inner.width &&
    outer.top + outer.height >= inner.top + inner.height
  );
}
