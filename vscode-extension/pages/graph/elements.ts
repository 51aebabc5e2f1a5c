/** The graph's parts as SVG elements, and, where boxes are too small to read, as one path for each colour. */
import type { GraphNode } from "../../src/protocol/generated";
import { svg } from "../shared/dom";
import { t } from "../shared/l10n";
import { lineText } from "../shared/lines";
import { elided, type } from "../shared/text";
import type { Frame } from "./frames";
import type { Placed } from "./layout";
import { NODE, type Point } from "./measures";
import type { Paint } from "./model";

/** Letters that a box has room for. */
export const LETTERS = 24;
/** Pixels from a line of text in a box to the next. */
const TEXT_LINE = 13;
/** Pixels of the round corners of a box and of a frame. */
const CORNER = { node: 4, frame: 6 } as const;
/** Pixels of the mark of weights. */
const BADGE = { width: 22, height: 13 } as const;
/** Position of a frame's title, in pixels from the upper left corner of the frame. */
const FRAME_TITLE = { right: 8, up: 4 } as const;
/** The tip of an edge: its own units, and its size in line widths. */
const ARROW = { units: 8, widths: 7 } as const;

export function arrow(): SVGElement {
  return svg(
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
}

/** What a box shows besides its node: `name`: as short as there is room; `block`: how many ops a closed block has. */
export interface Words {
  readonly name: string;
  readonly block: number | undefined;
  /** The loads of weights that the op reads. */
  readonly weights: readonly GraphNode[];
}

/** A box with three lines of text. */
export function boxElement(
  node: GraphNode,
  { x, y }: Point,
  paint: Paint,
  { name, block, weights }: Words,
): SVGElement {
  const text = (line: number, content: string, kind: string) =>
    svg(
      "text",
      {
        x,
        y: y - NODE.height / 2 + TEXT_LINE * line,
        "text-anchor": "middle",
        class: kind,
        // Names that need more letters to be told apart have narrower ones.
        ...(content.length > LETTERS && { textLength: NODE.width - 2 * CORNER.node, lengthAdjust: "spacingAndGlyphs" }),
      },
      content,
    );
  const rectangle = { width: NODE.width, height: NODE.height, rx: CORNER.node };
  const [left, top] = [x - NODE.width / 2, y - NODE.height / 2];
  const filled = (kind: string, shift: number) => {
    const made = svg("rect", { class: kind, x: left + shift, y: top + shift, ...rectangle, fill: paint.color });
    made.style.setProperty("--paint", paint.color);
    return made;
  };
  return svg(
    "g",
    {
      class: `node${block === undefined ? "" : " block"}${paint.isCulprit === true ? " culprit" : ""}`,
      "data-id": node.id,
      "data-line": node.line,
      "data-opcode": node.opcode,
    },
    svg("title", {}, titleOf(node, paint)),
    ...(block === undefined ? [] : [filled("shade", 3)]),
    filled("face", 0),
    text(1, elided(node.opcode.replace(/^tpu\./, ""), LETTERS), "opcode"),
    text(2, name, "name"),
    text(
      3,
      block === undefined ? elided(type(node.dtype, node.shape), LETTERS) : t("{0} ops, click to open", block),
      "type",
    ),
    ...(weights.length === 0 ? [] : [badge(left + NODE.width - BADGE.width - 3, top + 3, weights)]),
  );
}

/** A mark that says how many weights an op reads, and in its hover which. */
function badge(x: number, y: number, weights: readonly GraphNode[]): SVGElement {
  const lines = weights.map(({ name, dtype, shape, line }) => `${name} ${type(dtype, shape)}, ${lineText(line)}`);
  return svg(
    "g",
    { class: "badge" },
    svg("title", {}, lines.join("\n")),
    svg("path", {
      class: "ground",
      d: `M${String(x)} ${String(y)}h${String(BADGE.width)}v${String(BADGE.height)}h-${String(BADGE.width)}z`,
    }),
    svg(
      "text",
      { x: x + BADGE.width / 2, y: y + BADGE.height - 3, "text-anchor": "middle" },
      `W${weights.length > 1 ? String(weights.length) : ""}`,
    ),
  );
}

export function titleOf(node: GraphNode, { note }: Paint): string {
  return [node.opcode, node.name, type(node.dtype, node.shape), note, lineText(node.line)].filter(Boolean).join("\n");
}

export function edgeElement({ tail, head, points }: Placed["edges"][number]): SVGElement {
  return svg("path", {
    class: "edge",
    d: path(points),
    "marker-end": "url(#arrow)",
    "data-tail": tail,
    "data-head": head,
  });
}

export function frameElement({ kind, title, left, top, width, height }: Frame): SVGElement {
  return svg(
    "g",
    { class: `frame ${kind}`, "data-title": title },
    svg("rect", { x: left, y: top, width, height, rx: CORNER.frame }),
    svg("text", { x: left + FRAME_TITLE.right, y: top - FRAME_TITLE.up }, title),
  );
}

/** All edges as one line, and the boxes of each colour as one area. */
export function farElements(
  placed: Placed,
  nodes: readonly GraphNode[],
  colour: (node: GraphNode) => string,
): SVGElement[] {
  const areas = new Map<string, string[]>();
  for (const node of nodes) {
    const at = placed.nodes.get(node.id);
    if (at === undefined) continue;
    const fill = colour(node);
    const area = areas.get(fill) ?? [];
    areas.set(fill, area);
    const { width, height } = NODE;
    area.push(
      `M${(at.x - width / 2).toFixed(0)} ${(at.y - height / 2).toFixed(0)}h${String(width)}v${String(height)}h-${String(width)}z`,
    );
  }
  const lines = placed.edges.map(({ points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return first && last
      ? `M${first.x.toFixed(0)} ${first.y.toFixed(0)}L${last.x.toFixed(0)} ${last.y.toFixed(0)}`
      : "";
  });
  return [
    svg("path", { class: "edge", d: lines.join("") }),
    ...[...areas].map(([fill, area]) => {
      const made = svg("path", { class: "far", d: area.join(""), fill });
      made.style.setProperty("--paint", fill);
      return made;
    }),
  ];
}

/** A smooth line through points: curves between the middles of its pieces; of two points, one that leaves downwards. */
function path(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (first === undefined || last === undefined) return "";
  const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  if (rest.length === 0) {
    const middle = (first.y + last.y) / 2;
    return `M${at(first)}C${at({ x: first.x, y: middle })} ${at({ x: last.x, y: middle })} ${at(last)}`;
  }
  const between = (one: Point, other: Point) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
  const curves = rest.map((point, index) => `Q${at(point)} ${at(between(point, rest[index + 1] ?? last))}`);
  return `M${at(first)}${curves.join("")}L${at(last)}`;
}
