/** Which colour a node of the graph has. */
import { opsOf, type ComparedRows, type Verdict } from "../../src/compare/results";
import type { GraphNode } from "../../src/protocol/generated";
import { t } from "../shared/l10n";

export type Colouring = "dtype" | "time" | "verdict";

/** The colour of a node, and a line that says why. */
export interface Paint {
  readonly color: string;
  readonly note: string;
  /** Whether it is the first op that differs, or has it. */
  readonly isCulprit?: boolean;
}

/** As light as the adapter's, so that dark text can be read on all of them. */
const VERDICTS: Readonly<Record<Verdict, Paint>> = {
  pass: { color: "#c9ecc3", note: t("as expected") },
  fail: { color: "#f28b82", note: t("differs") },
  unknown: { color: "#eeeeee", note: t("not compared") },
  excepted: { color: "#d0d0d0", note: t("left out") },
};

/** The meaning of the colour of a node that a report was painted by. */
export function paintedByVerdict({ color }: GraphNode): Paint {
  return Object.values(VERDICTS).find((paint) => paint.color === color) ?? VERDICTS.unknown;
}

/** The ends of the colours that `tdb/graph` gives nodes by time. */
const TIME_RAMP = { none: "#ffffff", most: "#ff6969" } as const;

/** Paint of a node by the verdicts up to now. */
export function byVerdict(results: ComparedRows): (node: GraphNode) => Paint {
  const ops = new Map(opsOf(results).map((op) => [op.line, op]));
  return (node) => {
    const op = node.opcode === "input" ? undefined : ops.get(node.line);
    if (op === undefined) return VERDICTS.unknown;
    return op.isCulprit ? { ...VERDICTS.fail, note: t("first to differ"), isCulprit: true } : VERDICTS[op.verdict];
  };
}

/** The meaning of each colour, in the order of the nodes; of a ramp, that of its two ends. */
export function legend(colouring: Colouring, nodes: readonly GraphNode[], paint: (node: GraphNode) => Paint): Paint[] {
  if (colouring === "time")
    return [
      { color: TIME_RAMP.none, note: t("no time") },
      { color: TIME_RAMP.most, note: t("most time") },
    ];
  const found = new Map<string, Paint>();
  for (const node of nodes) {
    const painted = paint(node);
    if (painted.note !== "" && !found.has(painted.color)) found.set(painted.color, painted);
  }
  return [...found.values()];
}

/** The paint of a closed block: what fails before what passes, the hottest, or what is there most often. */
export function combined(colouring: Colouring): (paints: readonly Paint[]) => Paint {
  if (colouring === "verdict") return worst;
  return colouring === "time" ? hottest : commonest;
}

function worst(paints: readonly Paint[]): Paint {
  const culprit = paints.find(({ isCulprit }) => isCulprit);
  if (culprit !== undefined) return culprit;
  const order = [VERDICTS.fail, VERDICTS.pass, VERDICTS.excepted];
  return order.find(({ color }) => paints.some((paint) => paint.color === color)) ?? VERDICTS.unknown;
}

/** Of `#ff` and two equal colours, the darker the hotter. */
function hottest(paints: readonly Paint[]): Paint {
  return paints.reduce((one, other) => (other.color < one.color ? other : one));
}

function commonest(paints: readonly Paint[]): Paint {
  const counts = new Map<string, number>();
  for (const { color } of paints) counts.set(color, (counts.get(color) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return paints.find(({ color }) => counts.get(color) === most) ?? VERDICTS.unknown;
}
