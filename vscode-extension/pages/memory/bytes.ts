/** Memory by address: hexadecimal words beside the numbers that they are; either can be edited. */
import { textOf } from "../../src/protocol/errors";
import type { MemoryWindow, Region } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { count } from "../shared/text";
import { Grid, type Choice } from "./grid";
import { rowsOf, sizeOf, TYPES } from "./words";

/** Rows of the window. */
const ROWS = 16;
/** Bytes of a row, where there is room for more and where there is not. */
const ROW_BYTES = { wide: 16, narrow: 8 } as const;
/** From this width of the page on there is. */
const WIDE_PIXELS = 980;
/** Letters of the field for an address. */
const ADDRESS_LETTERS = 14;

interface Place {
  readonly address: string;
  readonly offset: number;
}

export class Bytes {
  private readonly regions = html("select", {
    "aria-label": t("Region"),
    change: () => {
      this.go({ address: this.regions.value, offset: 0 });
    },
  });
  private readonly address = html("input", {
    type: "text",
    size: ADDRESS_LETTERS,
    placeholder: "R4.64, G4096",
    "aria-label": t("Address: R4.64, G4096, L0, S64"),
    change: () => {
      this.go({ address: this.address.value.trim(), offset: 0 });
    },
  });
  private readonly type = html(
    "select",
    { "aria-label": t("Type of the numbers"), change: () => void this.refresh() },
    ...TYPES.map((name) => html("option", { value: name }, name)),
  );
  private readonly status = html("div", { class: "status", role: "status" });
  private readonly grid = new Grid(
    (choice) => {
      this.describe(choice);
    },
    (choice, text) => this.write(choice, text),
    (rows) => {
      this.turn(rows);
    },
  );
  readonly element = html(
    "section",
    { class: "bytes", role: "tabpanel", "aria-label": t("Bytes") },
    html(
      "div",
      { class: "bar", role: "toolbar", "aria-label": t("Bytes") },
      this.regions,
      this.address,
      this.type,
      button(
        "▲",
        () => {
          this.turn(-ROWS);
        },
        { title: t("Previous rows (Page Up)"), "aria-label": t("Previous rows") },
      ),
      button(
        "▼",
        () => {
          this.turn(ROWS);
        },
        { title: t("Next rows (Page Down)"), "aria-label": t("Next rows") },
      ),
    ),
    this.grid.element,
    this.status,
  );
  private known: readonly Region[] = [];
  private place: Place | undefined;
  private window: MemoryWindow | undefined;
  private rowBytes: number = ROW_BYTES.narrow;
  private turns = 0;

  /** `whatLies`: names of the tensors at a byte of a memory now. */
  constructor(private readonly whatLies: (space: string, core: number, byte: number) => string) {}

  /** Which memories there are; until a place is chosen, the first byte of local memory is shown. */
  offer(regions: readonly Region[]): void {
    this.known = regions;
    this.regions.replaceChildren(
      ...regions.map(({ space, title, reference }) => html("option", { value: reference }, `${space} ${title}`)),
    );
    const first = regions.find(({ space }) => space === "R") ?? regions[0];
    this.place ??= first && { address: first.reference, offset: 0 };
  }

  /** Show a place; `dtype`: as numbers of this type, if there are such of whole bytes. */
  go(place: Place, dtype?: string): void {
    this.place = place;
    this.window = undefined;
    if (dtype !== undefined && TYPES.includes(dtype)) this.type.value = dtype;
    void this.refresh();
  }

  /** Read again what is shown; bytes that have changed are marked. */
  async refresh(): Promise<void> {
    if (this.place === undefined || this.element.hidden) return;
    const turn = ++this.turns;
    const rowBytes = (this.rowBytes = this.element.clientWidth >= WIDE_PIXELS ? ROW_BYTES.wide : ROW_BYTES.narrow);
    try {
      const before = this.window;
      const now = await ask("tdb/memory", {
        ...this.place,
        dtype: this.type.value,
        count: ROWS * rowBytes,
        rowBytes,
      });
      if (turn !== this.turns) return;
      this.window = now;
      this.place = { address: now.reference, offset: 0 };
      this.address.value = now.rows[0] ?? "";
      const region = this.known.find(
        ({ space, core, start }) => space === now.space && core === now.core && start === now.region.start,
      );
      if (region !== undefined) this.regions.value = region.reference;
      this.grid.show(rowsOf(now, this.type.value, rowBytes, before));
    } catch (error) {
      if (turn === this.turns) this.complain(error);
    }
  }

  private turn(rows: number): void {
    const { window } = this;
    if (window === undefined) return;
    const { start, stop } = window.region;
    const to = Math.max(start, Math.min(window.start + rows * this.rowBytes, stop - this.rowBytes));
    if (to !== window.start) this.go({ address: window.reference, offset: to - window.start });
  }

  private describe({ byte, text }: Choice): void {
    if (this.window === undefined) return;
    const { space, core, start } = this.window;
    const lies = this.whatLies(space, core, start + byte);
    this.status.classList.remove("trouble");
    this.status.textContent = [
      t("byte {0} of {1}", count(start + byte), space === "G" ? "DDR" : this.window.region.title),
      text,
      lies,
    ]
      .filter(Boolean)
      .join(" · ");
  }

  /** Resolves to whether it is written; if not, the status says why. The edit is announced like a stop: then it is seen. */
  private async write({ byte, part }: Choice, text: string): Promise<boolean> {
    if (this.window === undefined) return false;
    const type = this.type.value;
    try {
      const written =
        part === "word"
          ? { dtype: `ui${String(8 * sizeOf(type))}`, value: hexadecimal(text) }
          : { dtype: type, value: text };
      await ask("tdb/setMemory", { address: this.window.reference, offset: byte, ...written });
    } catch (error) {
      this.complain(error);
      return false;
    }
    return true;
  }

  private complain(error: unknown): void {
    this.status.classList.add("trouble");
    this.status.textContent = textOf(error);
  }
}

function hexadecimal(text: string): string {
  const digits = text.trim().replace(/^0x/i, "");
  if (!/^[0-9a-f]+$/i.test(digits)) throw new Error(t("{0} is not a hexadecimal number", text));
  return `0x${digits}`;
}
