/** Names of ops as short as boxes have room. */
import type { GraphNode } from "../../src/protocol/generated";
import { ELLIPSIS, labelsOf } from "../shared/text";

/** Share of the names of a subnet that have the path which is left out: others are of constants. */
const MOST = 0.5;
const FEWEST = 4;
const BORDER = /[/._:-]+/g;
/** What the compiler puts before the name of a tensor that is loaded. */
const LOADED = /^load_/;

/**
 * By name: the subnet is written around its ops, so that what most of its names begin with says nothing. A name that two
 * subnets have is short in the same way in both.
 */
export function labelsIn(nodes: readonly GraphNode[], length: number): Map<string, string> {
  const bySubnet = new Map<string, string[]>();
  for (const { subnet, name } of nodes) bySubnet.set(subnet, [...(bySubnet.get(subnet) ?? []), name]);
  const labels = new Map<string, string>();
  for (const names of bySubnet.values()) {
    const path = commonPath(names);
    const short = new Map(names.map((name) => [name, withoutPath(name, path)]));
    const made = labelsOf(short.values(), length);
    for (const [name, text] of short) labels.set(name, made.get(text) ?? text);
  }
  return labels;
}

/** The longest path, up to a border of words, that most names begin with. */
export function commonPath(names: readonly string[]): string {
  let left = names.map((name) => name.replace(LOADED, ""));
  const needed = Math.max(FEWEST, MOST * left.length);
  for (let path = ""; ;) {
    const longer = new Map<string, string[]>();
    for (const name of left) {
      BORDER.lastIndex = path.length;
      const border = BORDER.exec(name);
      if (border === null) continue;
      const candidate = name.slice(0, border.index + border[0].length);
      longer.set(candidate, [...(longer.get(candidate) ?? []), name]);
    }
    const [candidate, those] = [...longer].reduce<[string, string[]]>(
      (most, one) => (one[1].length > most[1].length ? one : most),
      ["", []],
    );
    if (those.length < needed) return path;
    path = candidate;
    left = those;
  }
}

function withoutPath(name: string, path: string): string {
  const rest = name.replace(LOADED, "");
  return path !== "" && rest.startsWith(path) && rest !== path ? `${ELLIPSIS}${rest.slice(path.length)}` : name;
}
