/** The answer to `tdb/results`, put together by op. */
import type { Results, ResultRow } from "../protocol/generated";

export type Row = ResultRow;
export type Verdict = Row["verdict"];

/** All rows, and the first that differs. */
export type ComparedRows = Pick<Results, "rows" | "first">;

/** An op of final.mlir, or with line 0, and no opcode, the outputs of the net. `first`: ordinal of its first command. */
export interface ComparedOp {
  readonly line: number;
  readonly opcode: string;
  readonly name: string;
  readonly first: number;
  readonly verdict: Verdict;
  readonly rows: readonly Row[];
  readonly isCulprit: boolean;
}

/** Reasons of rows that no op has computed: they are compared with nothing, and fill lists. */
const MOVED: ReadonlySet<Row["reason"]> = new Set(["weight", "load or store"]);

/** What differs; as long as nothing does, what has been computed. */
export function telling<Some extends Pick<Row, "verdict" | "reason">>(rows: readonly Some[]): Some[] {
  const failed = rows.filter(({ verdict }) => verdict === "fail");
  return failed.length > 0 ? failed : rows.filter(({ reason }) => !MOVED.has(reason));
}

const WORST: readonly Verdict[] = ["fail", "pass", "excepted", "unknown"];

/** Ops in the order in which they were executed. */
export function opsOf({ rows, first }: ComparedRows): ComparedOp[] {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const known = groups.get(row.line);
    if (known === undefined) groups.set(row.line, [row]);
    else known.push(row);
  }
  return [...groups].map(([line, found]) => ({
    line,
    opcode: line > 0 ? (found[0]?.opcode ?? "") : "",
    name: (found.find(({ role }) => role !== "operand") ?? found[0])?.name ?? "",
    first: Math.min(...found.map((row) => row.first)),
    verdict: worst(found),
    rows: found,
    isCulprit: first !== null && found.some((row) => isSame(row, first)),
  }));
}

function worst(rows: readonly Row[]): Verdict {
  return WORST.find((verdict) => rows.some((row) => row.verdict === verdict)) ?? "unknown";
}

function isSame(one: Row, other: Row): boolean {
  return one.line === other.line && one.role === other.role && one.index === other.index && one.name === other.name;
}

/** The row that says most about an op: the first that fails, else the first that was measured. */
export function leading({ rows }: ComparedOp): Row | undefined {
  return rows.find(({ verdict }) => verdict === "fail") ?? rows.find(({ numbers }) => numbers !== null);
}
