/** The graph as it is drawn: boxes and arrows that can be moved, zoomed, chosen, and walked along with the arrow keys. */
import type { Graph, GraphNode } from "../../src/protocol/generated";
import { html, svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { type } from "../shared/text";
import { NODE, place, type Frame, type Placed, type Point } from "./layout";
import type { Paint } from "./model";

/** Letters that a box has room for. */
const LETTERS = 24;
/** Pixels from a line of text in a box to the next. */
const TEXT_LINE = 13;
/** Pixels of the round corners of a box and of a frame. */
const CORNER = { node: 4, frame: 6 } as const;
/** Position of a frame's title, in pixels from the upper left corner of the frame. */
const FRAME_TITLE = { right: 8, up: 4 } as const;
/** The tip of an edge: its own units, and its size in line widths. */
const ARROW = { units: 8, widths: 7 } as const;
/** Scales of the picture: the limits, and what its texts can be read from. */
const SCALE = { least: 0.02, readable: 0.7, most: 3 } as const;
/** By a key or a button, and by a step of the wheel. */
export const KEY_ZOOM = 1.25;
const WHEEL_ZOOM = 1.15;

export class Picture {
  readonly element = html("div", { class: "graph" });
  private readonly surface = svg("svg", {
    role: "application",
    tabindex: 0,
    "aria-label": t(
      "Graph of the ops. Arrow keys follow the edges and go sideways, Enter goes to the line, plus and minus zoom.",
    ),
  });
  private readonly world = svg("g");
  private readonly boxes = new Map<string, SVGElement>();
  private graph: Graph = { nodes: [], edges: [], currentLines: [] };
  private placed: Placed | undefined;
  private selected: GraphNode | undefined;
  private x = 0;
  private y = 0;
  private scale = 1;

  constructor(
    private readonly chosen: (node: GraphNode) => void,
    private readonly opened: (node: GraphNode) => void,
  ) {
    const arrow = svg(
      "marker",
      {
        id: "arrow",
        viewBox: `0 0 ${String(ARROW.units)} ${String(ARROW.units)}`,
        refX: ARROW.units,
        refY: ARROW.units / 2,
        markerWidth: ARROW.widths,
        markerHeight: ARROW.widths,
        orient: "auto-start-reverse",
      },
      svg("path", { d: `M0 0 ${String(ARROW.units)} ${String(ARROW.units / 2)} 0 ${String(ARROW.units)}z` }),
    );
    this.surface.append(svg("defs", {}, arrow), this.world);
    this.element.append(this.surface);
    this.surface.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.surface.getBoundingClientRect();
      this.zoom(WHEEL_ZOOM ** -Math.sign(event.deltaY), event.clientX - box.left, event.clientY - box.top);
    });
    this.surface.addEventListener("keydown", (event) => {
      if (this.pressed(event.key)) event.preventDefault();
    });
    this.drag();
  }

  show(graph: Graph): void {
    this.graph = graph;
    this.placed = place(graph);
    this.boxes.clear();
    this.selected = undefined;
    const edges = this.placed.edges.map(({ tail, head, points }) =>
      svg("path", {
        class: "edge",
        d: path(points),
        "marker-end": "url(#arrow)",
        "data-tail": tail,
        "data-head": head,
      }),
    );
    this.world.replaceChildren(
      ...this.placed.frames.map(frame),
      ...edges,
      ...graph.nodes.map((node) => this.box(node)),
    );
    this.fit();
    if (this.scale < SCALE.readable) this.zoom(SCALE.readable / this.scale); // then a part of it; `mark` chooses which
  }

  paint(paint: (node: GraphNode) => Paint): void {
    for (const node of this.graph.nodes) {
      const { color, note } = paint(node);
      const box = this.boxes.get(node.id);
      box?.querySelector("rect")?.setAttribute("fill", color);
      const title = box?.querySelector("title");
      if (title)
        title.textContent = [node.opcode, node.name, type(node.dtype, node.shape), note, t("line {0}", node.line)]
          .filter(Boolean)
          .join("\n");
    }
  }

  /** Mark the ops that run next, and make the first of them visible. */
  mark(lines: readonly number[]): void {
    const current = this.graph.nodes.filter(({ line, opcode }) => opcode !== "input" && lines.includes(line));
    for (const [id, box] of this.boxes)
      box.classList.toggle(
        "current",
        current.some((node) => node.id === id),
      );
    if (current[0] !== undefined) this.reveal(current[0]);
  }

  select(node: GraphNode): void {
    this.selected = node;
    for (const [id, box] of this.boxes) box.classList.toggle("selected", id === node.id);
    for (const edge of this.world.querySelectorAll<SVGElement>(".edge")) {
      edge.classList.toggle("selected", edge.dataset.tail === node.id || edge.dataset.head === node.id);
    }
    this.reveal(node);
    this.chosen(node);
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

  private move(): void {
    this.world.setAttribute("transform", `translate(${String(this.x)} ${String(this.y)}) scale(${String(this.scale)})`);
  }

  private reveal(node: GraphNode): void {
    const at = this.placed?.nodes.get(node.id);
    if (at === undefined) return;
    const [left, top] = [this.x + at.x * this.scale, this.y + at.y * this.scale];
    const { clientWidth: width, clientHeight: height } = this.element;
    const [halfWidth, halfHeight] = [(NODE.width / 2) * this.scale, (NODE.height / 2) * this.scale];
    if (left - halfWidth < 0 || left + halfWidth > width) this.x += width / 2 - left;
    if (top - halfHeight < 0 || top + halfHeight > height) this.y += height / 2 - top;
    this.move();
  }

  private box(node: GraphNode): SVGElement {
    const { x, y } = this.placed?.nodes.get(node.id) ?? { x: 0, y: 0 };
    const text = (line: number, content: string, name: string) =>
      svg(
        "text",
        { x, y: y - NODE.height / 2 + TEXT_LINE * line, "text-anchor": "middle", class: name },
        content.length > LETTERS ? `${content.slice(0, LETTERS - 1)}…` : content,
      );
    const box = svg(
      "g",
      {
        class: "node",
        "data-line": node.line,
        "data-opcode": node.opcode,
        click: () => {
          this.select(node);
          this.opened(node);
        },
      },
      svg("title"),
      svg("rect", {
        x: x - NODE.width / 2,
        y: y - NODE.height / 2,
        width: NODE.width,
        height: NODE.height,
        rx: CORNER.node,
      }),
      text(1, node.opcode.replace(/^tpu\./, ""), "opcode"),
      text(2, node.name, "name"),
      text(3, type(node.dtype, node.shape), "type"),
    );
    this.boxes.set(node.id, box);
    return box;
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
    else if (key === "Enter" && this.selected !== undefined) this.opened(this.selected);
    else if (key === "+" || key === "-") this.zoom(key === "+" ? KEY_ZOOM : 1 / KEY_ZOOM);
    else if (key === "Home") this.fit();
    else return next !== undefined;
    return true;
  }

  private along(from: "tail" | "head", to: "tail" | "head"): GraphNode | undefined {
    if (this.selected === undefined) return this.start();
    const id = this.selected.id;
    const edge = this.graph.edges.find((found) => found[from] === id);
    return this.graph.nodes.find((node) => node.id === edge?.[to]);
  }

  private beside(step: number): GraphNode | undefined {
    return this.selected === undefined
      ? this.start()
      : this.graph.nodes[this.graph.nodes.indexOf(this.selected) + step];
  }

  private start(): GraphNode | undefined {
    return this.graph.nodes.find(({ id }) => this.boxes.get(id)?.classList.contains("current")) ?? this.graph.nodes[0];
  }

  private drag(): void {
    let last: Point | undefined;
    this.surface.addEventListener("pointerdown", ({ clientX, clientY }) => {
      last = { x: clientX, y: clientY };
    });
    this.surface.addEventListener("pointermove", ({ clientX, clientY, buttons }) => {
      if (last === undefined || buttons !== 1) return;
      this.x += clientX - last.x;
      this.y += clientY - last.y;
      last = { x: clientX, y: clientY };
      this.move();
    });
  }
}

function frame({ kind, title, left, top, width, height }: Frame): SVGElement {
  return svg(
    "g",
    { class: `frame ${kind}`, "data-title": title },
    svg("rect", { x: left, y: top, width, height, rx: CORNER.frame }),
    svg("text", { x: left + FRAME_TITLE.right, y: top - FRAME_TITLE.up }, title),
  );
}

/** A smooth line through points: curves between the middles of its pieces. */
function path(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (first === undefined || last === undefined) return "";
  const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const between = (one: Point, other: Point) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
  const curves = rest.map((point, index) => `Q${at(point)} ${at(between(point, rest[index + 1] ?? last))}`);
  return `M${at(first)}${curves.join("")}L${at(last)}`;
}
