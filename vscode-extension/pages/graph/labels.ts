/** Names of ops as short as boxes have room. */
import type { GraphNode } from "../../src/protocol/generated";
import { labelsOf } from "../shared/text";

/** By name; those of a subnet differ from each other. A name that two subnets have is short in the same way in both. */
export function labelsIn(nodes: readonly GraphNode[], length: number): Map<string, string> {
  const bySubnet = new Map<string, GraphNode[]>();
  for (const node of nodes) bySubnet.set(node.subnet, [...(bySubnet.get(node.subnet) ?? []), node]);
  const labels = new Map<string, string>();
  for (const those of bySubnet.values()) {
    const made = labelsOf(
      those.map(({ label }) => label),
      length,
    );
    for (const { name, label } of those) labels.set(name, made.get(label) ?? label);
  }
  return labels;
}
