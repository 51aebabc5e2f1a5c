/** The compared tensors as rows of a table: columns, order, filter, and the curve of errors over ops. */
import type { Numbers } from "../../src/protocol/generated";
import { telling, type ComparedRows, type Row } from "../../src/compare/results";
import type { Order } from "../shared/order";
import { count } from "../shared/text";

/** A metric by its name in the answer. `isWorseHigh`: whether the larger number is the larger error. */
export const METRICS = [
  { name: "cosine", isWorseHigh: false },
  { name: "euclidean", isWorseHigh: false },
  { name: "sqnr", isWorseHigh: false },
  { name: "max_abs", isWorseHigh: true },
  { name: "max_rel", isWorseHigh: true },
  { name: "max_ulp", isWorseHigh: true },
  { name: "bad_share", isWorseHigh: true },
  { name: "nan_count", isWorseHigh: true },
] as const satisfies readonly { readonly name: keyof Numbers; readonly isWorseHigh: boolean }[];

export type Metric = (typeof METRICS)[number]["name"];
export type ColumnName = Metric | "verdict" | "line" | "opcode" | "tensor";

/** What the table shows of a compared tensor. */
export interface Compared extends Pick<Row, "verdict" | "line" | "opcode" | "name" | "role" | "index"> {
  readonly numbers: Pick<Numbers, Metric> | null;
}

export interface Filter {
  /** In small letters; of the op, the tensor or the line. */
  readonly text: string;
  /** What differs; as long as nothing does, what has been computed. */
  readonly onlyFailed: boolean;
  readonly onlyResults: boolean;
}

/** The worst first. */
const VERDICTS = ["fail", "excepted", "unknown", "pass"] as const;

/** A metric as a number; undefined where nothing was measured. What is not finite comes as text. */
export function metricOf({ numbers }: Pick<Compared, "numbers">, metric: Metric): number | undefined {
  const value = numbers?.[metric];
  return value === null || value === undefined ? undefined : Number(value);
}

export function shownRows({ rows }: ComparedRows, filter: Filter, order: Order<ColumnName> | undefined): Row[] {
  const found = (filter.onlyFailed ? telling(rows) : rows).filter(
    (row) =>
      (!filter.onlyResults || row.role !== "operand") &&
      `${row.opcode} ${row.name} ${String(row.line)} ${row.role}`.toLowerCase().includes(filter.text),
  );
  return order === undefined ? found : found.sort((one, other) => compared(one, other, order));
}

/** Rows without the number come last, whichever way the table is sorted. */
export function compared(one: Compared, other: Compared, { column, isDescending }: Order<ColumnName>): number {
  const [left, right] = [keyOf(one, column), keyOf(other, column)];
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  const sign = isDescending ? -1 : 1;
  if (typeof left === "string" || typeof right === "string") return sign * String(left).localeCompare(String(right));
  return sign * (left - right);
}

function keyOf(row: Compared, column: ColumnName): number | string | undefined {
  switch (column) {
    case "verdict":
      return VERDICTS.indexOf(row.verdict);
    case "line":
      return row.line;
    case "opcode":
      return row.opcode;
    case "tensor":
      return row.name;
    default: {
      const value = metricOf(row, column);
      return value === undefined || Number.isNaN(value) ? undefined : value;
    }
  }
}

/** A point of the curve: how far off a result is; 1 where that is no number. */
export interface ErrorPoint<Tensor> {
  readonly row: Tensor;
  readonly error: number;
}

/** 1 - a similarity of each result, in the order of ops. */
export function curveOf<Tensor extends Compared>(
  rows: readonly Tensor[],
  similarity: "cosine" | "euclidean" = "cosine",
): ErrorPoint<Tensor>[] {
  return rows
    .filter(({ role, numbers }) => role !== "operand" && numbers !== null)
    .map((row) => {
      const value = metricOf(row, similarity) ?? NaN;
      return { row, error: Number.isFinite(value) ? Math.max(1 - value, 0) : 1 };
    });
}

/** The expression that names a row's tensor at its op, and the moment at which to look. */
export function subjectOf({ role, index, name, first, last }: Row): { expression: string; ordinal: number } {
  switch (role) {
    case "operand":
      return { expression: `in[${String(index)}]@op${String(first)}`, ordinal: first };
    case "result":
      return { expression: `out[${String(index)}]@op${String(first)}`, ordinal: last + 1 };
    case "output":
      return { expression: `output("${name}")`, ordinal: last + 1 };
  }
}

/** Whether a reference was given, but has none of the tensors. */
export function isForeign({ rows }: ComparedRows): boolean {
  return rows.length > 0 && rows.every(({ verdict }) => verdict === "unknown");
}

/** Letters that are worth showing of a similarity, and the limits beyond which that is not a matter of letters. */
const SIMILARITY = { digits: 4, most: 6, least: -1 } as const;
const LARGE = 1e5;
const SMALL = 1e-3;
const DIGITS = 3;
const LEAST_PERCENT = 0.01;

/** As the table writes it, and an engineer reads it; nothing where nothing was measured. */
export function metricText(value: number | undefined, metric: Metric): string {
  if (value === undefined) return "";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞";
  switch (metric) {
    case "cosine":
    case "euclidean":
      return similarityText(value);
    case "sqnr":
      return value.toFixed(1);
    case "nan_count":
      return count(value);
    case "bad_share":
      return 0 < value && 100 * value < LEAST_PERCENT ? `<${String(LEAST_PERCENT)}` : scaled(100 * value);
    default:
      return scaled(value);
  }
}

/** 1 is only what is equal; far below 0 a similarity has no meaning but that there is none. */
function similarityText(value: number): string {
  if (value < SIMILARITY.least) return `< ${String(SIMILARITY.least)}`;
  const text = value.toFixed(SIMILARITY.digits);
  if (Number(text) !== 1 || value === 1) return text;
  const exact = value.toFixed(SIMILARITY.most);
  return Number(exact) === 1 ? `1 - ${scaled(1 - value)}` : exact;
}

/** Three digits; with an exponent where there would be many zeros. */
function scaled(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= LARGE || size < SMALL) return value.toExponential(DIGITS - 1).replace("e+", "e");
  return Number.isInteger(value) && size < LARGE ? String(value) : Number(value.toPrecision(DIGITS)).toString();
}
