/** The elements of what is drawn of the graph: frames, edges and boxes. */
import type { GraphNode } from "../../src/protocol/generated";
import type { Visible } from "./blocks";
import type { Sight } from "./camera";
import { elided } from "../shared/text";
import { boxElement, edgeElement, frameElement, LETTERS } from "./elements";
import type { Placed } from "./layout";
import { NODE, type Point } from "./measures";
import type { Paint } from "./model";

export interface Scene {
  readonly placed: Placed;
  readonly shown: Visible;
  readonly selected: GraphNode | undefined;
  /** Lines of the ops that run next. */
  readonly current: readonly number[];
  /** Names that the boxes have room for; those of closed blocks are missing. */
  readonly labels: ReadonlyMap<string, string>;
  /** Loads of weights by the op that reads them. */
  readonly badges: ReadonlyMap<string, readonly GraphNode[]>;
  readonly paint: (node: GraphNode) => Paint;
}

/**
 * Frames, edges and boxes in the order in which they are drawn, what runs next and the first that differs last; `area`: of
 * those that reach into it.
 */
export function sceneElements(scene: Scene, area: Sight | undefined): SVGElement[] {
  const { placed, shown, selected } = scene;
  const inside = ({ x, y }: Point) =>
    area === undefined ||
    (Math.abs(x - area.left - area.width / 2) <= (area.width + NODE.width) / 2 &&
      Math.abs(y - area.top - area.height / 2) <= (area.height + NODE.height) / 2);
  const edges = placed.edges.filter(({ points }) => points.some(inside)).map(edgeElement);
  for (const edge of edges)
    edge.classList.toggle("selected", edge.dataset.tail === selected?.id || edge.dataset.head === selected?.id);
  const boxes = shown.nodes.flatMap((node) => {
    const at = placed.nodes.get(node.id);
    return at !== undefined && inside(at) ? [box(scene, node, at)] : [];
  });
  const isLast = (element: SVGElement) => element.matches(".current, .selected, .culprit");
  const last = boxes.filter(isLast);
  return [...placed.frames.map(frameElement), ...edges, ...boxes.filter((one) => !isLast(one)), ...last];
}

function box({ shown, selected, current, labels, badges, paint }: Scene, node: GraphNode, at: Point): SVGElement {
  const block = shown.closed.get(node.id);
  const weights = badges.get(node.id) ?? [];
  const name = labels.get(node.name) ?? elided(node.name, LETTERS);
  const element = boxElement(node, at, paint(node), { name, block: block?.nodes.length, weights });
  const members = (block?.nodes ?? [node]).flatMap((member) => [member, ...(badges.get(member.id) ?? [])]);
  element.classList.toggle(
    "current",
    members.some(({ line, opcode }) => opcode !== "input" && current.includes(line)),
  );
  element.classList.toggle("selected", node.id === selected?.id);
  return element;
}
