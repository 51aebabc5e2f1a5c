/** Frames around the nodes of a subnet or of a layer group. */
import type { GraphNode } from "../../src/protocol/generated";
import { t } from "../shared/l10n";
import { numberOf } from "../shared/lines";
import { NODE, type Point } from "./measures";

/** Pixels from nodes to the frame around them: a subnet has room for its groups, and two of them side by side for both. */
const PADDING = { subnet: 8, group: 4 } as const;

/** A frame around nodes: a subnet, or in it a layer group; the frames around others come before those in them. */
export interface Frame {
  readonly kind: "subnet" | "group";
  readonly title: string;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The frames around nodes at these middles, but none where a node of another would lie in it. */
export function frames(nodes: readonly GraphNode[], middles: ReadonlyMap<string, Point>): Frame[] {
  return framesOf(nodes).flatMap((frame) => around(frame, nodes, middles));
}

interface Wanted {
  readonly id: string;
  readonly kind: Frame["kind"];
  readonly title: string;
}

/** None where nodes of others lie between its own. */
function around(
  { id, kind, title }: Wanted,
  nodes: readonly GraphNode[],
  middles: ReadonlyMap<string, Point>,
): Frame[] {
  const isOurs = (node: GraphNode) => (kind === "subnet" ? subnetId(node) : groupId(node)) === id;
  const at = (node: GraphNode) => middles.get(node.id) ?? { x: 0, y: 0 };
  const ours = nodes.filter(isOurs).map(at);
  const [xs, ys] = [ours.map(({ x }) => x), ours.map(({ y }) => y)];
  const left = Math.min(...xs) - NODE.width / 2 - PADDING[kind];
  const top = Math.min(...ys) - NODE.height / 2 - PADDING[kind];
  const right = Math.max(...xs) + NODE.width / 2 + PADDING[kind];
  const bottom = Math.max(...ys) + NODE.height / 2 + PADDING[kind];
  const isInside = ({ x, y }: Point) =>
    left < x + NODE.width / 2 &&
    x - NODE.width / 2 < right &&
    top < y + NODE.height / 2 &&
    y - NODE.height / 2 < bottom;
  if (nodes.some((node) => !isOurs(node) && isInside(at(node)))) return [];
  return [{ kind, title, left, top, width: right - left, height: bottom - top }];
}

function framesOf(nodes: readonly GraphNode[]): Wanted[] {
  const subnets = new Map(
    nodes.map((node) => [subnetId(node), { id: subnetId(node), kind: "subnet" as const, title: node.subnet }]),
  );
  const groups = new Map(
    nodes
      .filter(({ group }) => group !== null)
      .map((node) => [
        groupId(node),
        {
          id: groupId(node),
          kind: "group" as const,
          title: t("layer group, line {0}", numberOf(node.group ?? 0)),
        },
      ]),
  );
  return [...subnets.values(), ...groups.values()];
}

function subnetId({ subnet }: GraphNode): string {
  return `subnet ${subnet}`;
}

function groupId({ subnet, group }: GraphNode): string {
  return `group ${subnet} ${String(group)}`;
}
