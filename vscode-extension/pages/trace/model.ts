/** The hits of a trace as rows of a table: columns, search, order, the rows in the window, sparklines and CSV. */
import type { TraceBody, TraceRow } from "../../src/protocol/generated";
import type { Order } from "../shared/order";

/** What a row says of its place, in the order of a file of `tdb-dap trace`. */
export const PLACES = ["moment", "command", "line", "op", "name", "core", "slice", "launch", "token"] as const;

export type PlaceName = (typeof PLACES)[number];

/** A column: of the place, or the number of an expression. */
export type ColumnName = PlaceName | number;

/** A row, its number in the order of the run, and its text in small letters. */
export interface Hit {
  readonly row: TraceRow;
  readonly index: number;
  readonly text: string;
}

/** Numbers of rows in the order of the run, the last one included. */
export interface Brush {
  readonly first: number;
  readonly last: number;
}

export interface Filter {
  /** In small letters. */
  readonly text: string;
  readonly brush: Brush | undefined;
}

export function hitsOf(rows: readonly TraceRow[]): Hit[] {
  return rows.map((row, index) => ({
    row,
    index,
    text: [row.moment, row.command, row.line, row.op, row.name, row.slice, ...row.texts].join(" ").toLowerCase(),
  }));
}

/** The columns that say something of these rows: cores, slices, launches and tokens only where there are any. */
export function columnsOf(
  { rows, expressions }: Pick<TraceBody, "rows" | "expressions">,
  isNarrow = false,
): ColumnName[] {
  const places = PLACES.filter((name) => {
    switch (name) {
      case "core":
        return rows.some(({ core }) => core !== 0);
      case "slice":
        return rows.some(({ slice }) => slice !== "");
      case "launch":
      case "token":
        return rows.some((row) => row[name] !== null);
      default:
        return true;
    }
  });
  // A narrow view has room for the moment and the values; the rest is a scroll away.
  const lead = isNarrow ? 1 : places.length;
  return [...places.slice(0, lead), ...expressions.keys(), ...places.slice(lead)];
}

/** The text of a cell: of a value what the adapter writes, or why there is none. */
export function cellText(row: TraceRow, column: ColumnName): string {
  if (typeof column === "number") return row.texts[column] ?? "";
  const value = row[column];
  if (value === null || (column === "line" && value === 0)) return "";
  return String(value);
}

/** The rows that are brushed and have the text, in an order. */
export function shownHits(hits: readonly Hit[], { text, brush }: Filter, order: Order<ColumnName> | undefined): Hit[] {
  const within = brush === undefined ? hits : hits.slice(brush.first, brush.last + 1);
  const matching = within.filter((hit) => hit.text.includes(text));
  return order === undefined ? matching : matching.sort((one, other) => compared(one, other, order));
}

/** Rows without a value come last, whichever way the table is sorted. */
function compared({ row: one }: Hit, { row: other }: Hit, { column, isDescending }: Order<ColumnName>): number {
  const [left, right] = [keyOf(one, column), keyOf(other, column)];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  const sign = isDescending ? -1 : 1;
  if (typeof left === "number" && typeof right === "number") return sign * (left - right);
  return sign * String(left).localeCompare(String(right), "en", { numeric: true });
}

function keyOf(row: TraceRow, column: ColumnName): number | string | null {
  if (typeof column === "number") return row.values[column] ?? null;
  return row[column];
}

/** Rows that are made beyond the window, on either side. */
const MARGIN = 10;

/** The rows to make of a list, from the first to before the last one, for a window of pixels. */
export function rowsInSight(
  top: number,
  height: number,
  rowHeight: number,
  count: number,
): { readonly from: number; readonly to: number } {
  const first = Math.floor(Math.max(top, 0) / rowHeight);
  const to = Math.min(count, first + Math.ceil(height / rowHeight) + MARGIN + 1);
  return { from: Math.max(0, Math.min(first, to) - MARGIN), to };
}

/** Where a row is to the present moment. */
export function sideOf(moment: number, ordinal: number): "behind" | "here" | "ahead" {
  if (moment === ordinal) return "here";
  return moment < ordinal ? "behind" : "ahead";
}

/** Rows that the program has passed, or stands at; rows are in the order of the run, but for those of other cores. */
export function passed(rows: readonly TraceRow[], ordinal: number): number {
  return rows.filter(({ moment }) => moment <= ordinal).length;
}

export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** The least and the greatest of the values; undefined where none is a number. */
export function extentOf(values: Iterable<number | null>): Extent | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > high ? undefined : { low, high };
}

/** The extents of the values that share a pixel, for at most so many pixels; undefined where there are no numbers. */
export function envelope(values: readonly (number | null)[], pixels: number): (Extent | undefined)[] {
  const count = Math.min(Math.max(Math.floor(pixels), 1), values.length);
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i, i + 1].map((at) => Math.floor((at * values.length) / count));
    return extentOf(values.slice(from, to));
  });
}

/** The outline of a sparkline as the path of an SVG, gaps where there are no numbers. */
export function outline(extents: readonly (Extent | undefined)[], width: number, height: number): string {
  const all = extentOf(extents.flatMap((one) => (one === undefined ? [] : [one.low, one.high])));
  if (all === undefined) return "";
  const y = (value: number) =>
    (all.high === all.low ? height / 2 : height * (1 - (value - all.low) / (all.high - all.low))).toFixed(1);
  return extents
    .map((one, i) => {
      if (one === undefined) return "";
      const x = (((i + 0.5) / extents.length) * width).toFixed(1);
      return `${extents[i - 1] === undefined ? "M" : "L"}${x} ${y(one.low)}L${x} ${y(one.high)}`;
    })
    .join("");
}

/** Pixels that the pointer must move for a brush; less is a click, which takes the brush away. */
const LEAST_BRUSH = 4;

/** The rows between two points of a sparkline so many pixels wide; undefined for a click. */
export function brushed(from: number, to: number, width: number, count: number): Brush | undefined {
  if (Math.abs(to - from) < LEAST_BRUSH || count === 0) return undefined;
  const row = (x: number) => Math.min(Math.max(Math.floor((x / width) * count), 0), count - 1);
  return { first: row(Math.min(from, to)), last: row(Math.max(from, to)) };
}

/** The first row of the run in which an expression exceeds a limit. */
export function firstBeyond(rows: readonly TraceRow[], expression: number, limit: number): TraceRow | undefined {
  return rows.find(({ values }) => (values[expression] ?? -Infinity) > limit);
}

/** The breakpoint that stops where an expression exceeds a limit: on the side of the place where the row was read. */
export function stopBeyond(
  { place, condition, expressions }: Pick<TraceBody, "place" | "condition" | "expressions">,
  row: TraceRow,
  expression: number,
  limit: number,
): { readonly name: string; readonly condition: string } {
  const everywhere = row.line > 0 ? `${row.op.split(".")[0] ?? ""}.*` : "*";
  const beyond = `(${expressions[expression] ?? ""}) > ${String(limit)}`;
  return {
    name: `${row.isAfter ? "after " : ""}${place === "" ? everywhere : place}`,
    condition: condition === "" ? beyond : `(${condition}) and ${beyond}`,
  };
}

/** Rows with commas, as `tdb-dap trace -o t.csv` writes them. */
export function csvOf(expressions: readonly string[], hits: readonly Hit[]): string {
  const lines = hits.map(({ row }) => [
    ...PLACES.map((name) => row[name] ?? ""),
    ...expressions.map((_, i) => row.values[i] ?? row.texts[i] ?? ""),
  ]);
  return [[...PLACES, ...expressions], ...lines].map((line) => `${line.map(quoted).join(",")}\n`).join("");
}

/** A field; a text that a spreadsheet would take for a formula begins with an apostrophe. */
function quoted(field: string | number): string {
  if (typeof field === "number") return String(field);
  const text = /^[=+\-@\t\r]/.test(field) && Number.isNaN(Number(field)) ? `'${field}` : field;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A title is bold: its letters are this much wider. */
const BOLD = 1.2;

/** Letters of a column: of its longest text, at most `most`. */
export function lettersOf(title: string, texts: Iterable<string>, most: number): number {
  let longest = Math.ceil(title.length * BOLD);
  for (const text of texts) longest = Math.max(longest, text.length);
  return Math.min(longest, most);
}
