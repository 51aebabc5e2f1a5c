/** A table of words and numbers that the keyboard moves in, and whose cells can be edited. */
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Row, Word } from "./words";

/** Of the field to edit a cell in. */
const LEAST_LETTERS = 4;

export type Part = "word" | "number";

/** A cell: the byte it begins at, which of its two forms, and what stands there. */
export interface Choice {
  readonly byte: number;
  readonly part: Part;
  readonly text: string;
}

export class Grid {
  private readonly body = html("tbody");
  readonly element = html(
    "div",
    { class: "grid" },
    html("table", { role: "grid", "aria-label": t("Memory: arrows move, Enter edits") }, this.body),
  );
  private rows: readonly Row[] = [];
  private at = { row: 0, part: "word" as Part, column: 0 };

  /** `chosen`: the cursor moved; `write`: a cell gets this text, resolves to whether it could; `turn`: moves the window by a number of rows. */
  constructor(
    private readonly chosen: (choice: Choice) => void,
    private readonly write: (choice: Choice, text: string) => Promise<boolean>,
    private readonly turn: (rows: number) => void,
  ) {
    this.body.addEventListener("keydown", (event) => {
      if (event.target instanceof HTMLTableCellElement && this.pressed(event.key)) event.preventDefault();
    });
  }

  show(rows: readonly Row[]): void {
    const hadFocus = this.body.contains(document.activeElement);
    this.rows = rows;
    this.body.replaceChildren(
      ...rows.map(({ address, words }, row) =>
        html(
          "tr",
          {},
          html("th", { scope: "row" }, address),
          ...words.map((word, column) => this.cell(word, row, "word", column)),
          ...words.map((word, column) => this.cell(word, row, "number", column)),
        ),
      ),
    );
    this.move(this.at.row, this.at.part, this.at.column, hadFocus);
  }

  private cell(word: Word, row: number, part: Part, column: number): HTMLElement {
    const classes = [part, word.changed && "changed", column === 0 && "first"].filter(Boolean).join(" ");
    return html(
      "td",
      {
        class: classes,
        tabindex: -1,
        role: "gridcell",
        "data-byte": word.byte,
        "data-part": part,
        title: word.changed ? t("Changed since the last stop") : undefined,
        click: () => {
          this.move(row, part, column, true);
        },
        focus: () => {
          if (this.current?.choice.byte !== word.byte || this.at.part !== part) this.move(row, part, column, false);
        },
        dblclick: () => {
          this.edit();
        },
      },
      part === "word" ? word.hex : word.number,
    );
  }

  private get current(): { element: HTMLTableCellElement; choice: Choice } | undefined {
    const { row, part, column } = this.at;
    const word = this.rows[row]?.words[column];
    const element =
      word &&
      this.body.querySelector<HTMLTableCellElement>(`td[data-part="${part}"][data-byte="${String(word.byte)}"]`);
    return word && element
      ? { element, choice: { byte: word.byte, part, text: part === "word" ? `0x${word.hex}` : word.number } }
      : undefined;
  }

  private move(row: number, part: Part, column: number, focus: boolean): void {
    const to = Math.max(0, Math.min(row, this.rows.length - 1));
    this.at = { row: to, part, column: Math.max(0, Math.min(column, (this.rows[to]?.words.length ?? 1) - 1)) };
    for (const cell of this.body.querySelectorAll("td[aria-selected]")) {
      cell.removeAttribute("aria-selected");
      cell.setAttribute("tabindex", "-1");
    }
    const { current } = this;
    if (current === undefined) return;
    current.element.setAttribute("aria-selected", "true");
    current.element.tabIndex = 0;
    if (focus) current.element.focus();
    this.chosen(current.choice);
  }

  private pressed(key: string): boolean {
    const { row, part, column } = this.at;
    const last = (this.rows[row]?.words.length ?? 1) - 1;
    if (key === "Enter" || key === "F2") this.edit();
    else if (key === "PageUp" || key === "PageDown") this.turn(key === "PageUp" ? -this.rows.length : this.rows.length);
    else if (key === "ArrowUp" && row === 0) this.turn(-1);
    else if (key === "ArrowDown" && row === this.rows.length - 1) this.turn(1);
    else if (key === "ArrowUp" || key === "ArrowDown")
      this.move(row + (key === "ArrowUp" ? -1 : 1), part, column, true);
    else if (key === "ArrowRight" && column === last && part === "word") this.move(row, "number", 0, true);
    else if (key === "ArrowLeft" && column === 0 && part === "number") this.move(row, "word", last, true);
    else if (key === "ArrowLeft" || key === "ArrowRight")
      this.move(row, part, column + (key === "ArrowLeft" ? -1 : 1), true);
    else if (key === "Home" || key === "End") this.move(row, part, key === "Home" ? 0 : last, true);
    else return false;
    return true;
  }

  /** A field in the cell: Enter writes, Escape and going elsewhere leave what was there. */
  private edit(): void {
    const { current } = this;
    if (current === undefined) return;
    const { element, choice } = current;
    const text = element.textContent;
    const field = html("input", {
      type: "text",
      value: text,
      size: Math.max(LEAST_LETTERS, text.length),
      "aria-label": choice.part === "word" ? t("New word") : t("New number"),
      spellcheck: "false",
    });
    let over = false;
    const close = (focus: boolean) => {
      if (over) return;
      over = true;
      element.replaceChildren(text);
      if (focus) element.focus();
    };
    field.addEventListener("blur", () => {
      close(false);
    });
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") close(true);
      if (event.key !== "Enter") return;
      void this.write(choice, field.value).then((isWritten) => {
        if (isWritten) close(true);
        else field.select();
      });
    });
    element.replaceChildren(field);
    field.select();
    field.focus();
  }
}
