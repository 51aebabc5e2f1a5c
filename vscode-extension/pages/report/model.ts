/** The data of a page as rows of its tables and numbers of its pictures. */
import type { ComparedMetrics, ComparedTensors } from "../../src/protocol/generated";
import { compared, METRICS, type ColumnName, type Compared } from "../compare/model";
import type { Order } from "../shared/order";

/** A compared tensor; `blame`: why it is wrong, or why it was not compared. */
export interface Tensor extends Compared {
  readonly blame: string;
  readonly isFault: boolean;
  readonly isCulprit: boolean;
}

/** The tensors in the order of execution. */
export function tensorsOf(data: ComparedTensors): Tensor[] {
  const text = (places: readonly number[], i: number) => data.texts[places[i] ?? -1] ?? "";
  const faults = new Set(data.faults);
  return data.line.map((line, i) => ({
    line,
    opcode: text(data.opcode, i),
    name: text(data.name, i),
    role: text(data.role, i) as Tensor["role"],
    index: data.index[i] ?? 0,
    verdict: text(data.verdict, i) as Tensor["verdict"],
    blame: text(data.blame, i),
    numbers: numbersOf(data.metrics, i),
    isFault: faults.has(i),
    isCulprit: i === data.culprit,
  }));
}

function numbersOf(metrics: ComparedMetrics, i: number): Tensor["numbers"] {
  if (METRICS.every(({ name }) => (metrics[name][i] ?? null) === null)) return null;
  const of = (name: keyof ComparedMetrics) => metrics[name][i] ?? NaN;
  return {
    cosine: of("cosine"),
    euclidean: of("euclidean"),
    sqnr: of("sqnr"),
    max_abs: of("max_abs"),
    max_rel: of("max_rel"),
    max_ulp: metrics.max_ulp[i] ?? null,
    bad_share: of("bad_share"),
    nan_count: Number(of("nan_count")),
  };
}

/** In an order of the table of tensors; `blame` is a column that the editor's table has not. */
export function comparedTensors(one: Tensor, other: Tensor, order: Order<ColumnName | "blame">): number {
  const { column, isDescending } = order;
  if (column !== "blame") return compared(one, other, { column, isDescending });
  return comparedTexts(one.blame, other.blame, isDescending);
}

/** Numbers, also those with a percent sign, by their size and before other texts; empty ones last. */
export function comparedTexts(one: string, other: string, isDescending: boolean): number {
  const sign = isDescending ? -1 : 1;
  const [left, right] = [numberOf(one), numberOf(other)];
  if (left !== undefined && right !== undefined) return sign * (left - right);
  if (left !== undefined || right !== undefined) return left === undefined ? 1 : -1;
  if (one === "" || other === "") return Number(one === "") - Number(other === "");
  return sign * one.localeCompare(other);
}

function numberOf(text: string): number | undefined {
  const number = Number(text.replaceAll(",", "").replace("%", ""));
  return text.trim() === "" || Number.isNaN(number) ? undefined : number;
}

/** Rows that hold a text in any of their cells, and are of a kind; all kinds: undefined. */
export interface Filter {
  /** In small letters. */
  readonly text: string;
  readonly kind: string | undefined;
}

export function isShown(texts: readonly string[], kind: string, filter: Filter): boolean {
  if (filter.kind !== undefined && kind !== filter.kind) return false;
  return filter.text === "" || texts.some((text) => text.toLowerCase().includes(filter.text));
}

/** Letters of errors, and their smallest one. */
const LETTERS = { base: 36, perDecade: 4, least: -8 } as const;

/** The power of ten of a relative error: -Infinity where there is none, NaN where it is no number. */
export function powerOf(letter: string): number {
  if (letter === ".") return -Infinity;
  if (letter === "!") return NaN;
  return parseInt(letter, LETTERS.base) / LETTERS.perDecade + LETTERS.least;
}
