import type { NumberKind } from "../../src/protocol/messages";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Cell } from "./layout";
import type { Stage } from "./stage";

/** Cells of the table; in a low window fewer, so that the pictures have room, too. */
const ROWS = { low: 7, high: 12, from: 900 } as const;
const COLUMNS = 8;
/** Digits that distinguish a float32 from its neighbours, nearly always. */
const DIGITS = 8;

function rowsShown(): number {
  return window.innerHeight < ROWS.from ? ROWS.low : ROWS.high;
}

/** Bits of an element whose type does not say, and of a hexadecimal digit. */
const WORD_BITS = 32;
const DIGIT_BITS = 4;

/** Hexadecimal digits of an element: of `f16`, 4. */
export function digitsOf(dtype: string): number {
  return Number(/\d+/.exec(dtype)?.[0] ?? WORD_BITS) / DIGIT_BITS;
}

/** The numbers around the cursor, as a table that the keyboard moves in. */
export class Table {
  readonly element = html("table", { role: "grid", "aria-label": t("Numbers around the cursor"), tabindex: 0 });
  of: NumberKind = "actual";
  /** Of a stored number: that many hexadecimal digits. */
  digits = 8;

  constructor(private readonly stage: Stage) {
    this.element.addEventListener("keydown", (event) => {
      this.key(event);
    });
  }

  draw(): void {
    const { rows, columns } = this.stage.layout.plane;
    const top = start(this.stage.cursor.row, rowsShown(), rows);
    const left = start(this.stage.cursor.column, COLUMNS, columns);
    const across = range(left, Math.min(left + COLUMNS, columns));
    // A mosaic has several slices: rows and columns are counted within each of them.
    const { pane } = this.stage.layout;
    const head = html(
      "tr",
      {},
      html("td"),
      ...across.map((column) => html("th", { scope: "col" }, String(column % pane.columns))),
    );
    const body = range(top, Math.min(top + rowsShown(), rows)).map((row) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, String(row % pane.rows)),
        ...across.map((column) => this.cell({ row, column })),
      ),
    );
    this.element.replaceChildren(html("thead", {}, head), html("tbody", {}, ...body));
  }

  private cell(at: Cell): HTMLElement {
    const { cursor, layout } = this.stage;
    const here = at.row === cursor.row && at.column === cursor.column;
    const number = layout.indexAt(at) && this.stage.tiles.number(this.of, at.row, at.column);
    const attributes = {
      class: this.mark(number),
      "aria-selected": here ? "true" : undefined,
      "data-at": `${String(at.row)},${String(at.column)}`,
    };
    const element = html("td", attributes, this.text(at, number));
    element.addEventListener("click", () => {
      this.stage.moveTo(at);
    });
    return element;
  }

  private text(at: Cell, number: number | undefined): string {
    if (this.stage.layout.indexAt(at) === undefined) return "";
    if (number === undefined) return "…";
    return this.of === "bits" ? `0x${number.toString(16).padStart(this.digits, "0")}` : exact(number);
  }

  /** The class of a number that is not finite, or out of the range of the colours. */
  private mark(number: number | undefined): string | undefined {
    if (number === undefined || this.of === "bits") return undefined;
    if (!Number.isFinite(number)) return "strange";
    const { low, high } = this.stage.range(this.of);
    return this.stage.marks(this.of) && (number < low || number > high) ? "outside" : undefined;
  }

  private key(event: KeyboardEvent): void {
    const { row, column } = this.stage.cursor;
    const moves: Record<string, Cell> = {
      ArrowUp: { row: row - 1, column },
      ArrowDown: { row: row + 1, column },
      ArrowLeft: { row, column: column - 1 },
      ArrowRight: { row, column: column + 1 },
      PageUp: { row: row - rowsShown(), column },
      PageDown: { row: row + rowsShown(), column },
    };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.stage.moveTo(to);
  }
}

/** Enough digits of a float32 to distinguish it from its neighbours. */
function exact(number: number): string {
  if (Number.isNaN(number)) return "NaN";
  return Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(DIGITS)));
}

function start(at: number, shown: number, extent: number): number {
  return Math.max(0, Math.min(at - Math.floor(shown / 2), extent - shown));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}
