/** Which numbers of a tensor lie where in its pictures. */

/** One slice; all slices along an axis side by side; or three of them as red, green and blue, or the other way round. */
export type Arrangement = "slice" | "mosaic" | "rgb" | "bgr";

/** Order of an image's axes in memory, the outermost first: channels, rows (height), columns (width). */
export type Order = "CHW" | "HWC";

/** Channels of a colour picture, and the fewest that can lie side by side. */
export const COLOUR_CHANNELS = 3;
const MOSAIC_CHANNELS = 2;

export type Role = "row" | "column" | "channel";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** The plane that a picture shows: the arguments of `tdb/tensorTile`, and the extents of the whole. */
export interface Plane {
  readonly rowAxis: number | null;
  readonly columnAxis: number | null;
  readonly channelAxis: number | null;
  readonly across: number;
  readonly index: readonly number[];
  readonly rows: number;
  readonly columns: number;
}

export class Layout {
  arrangement: Arrangement = "slice";
  /** Position on the axes that are not shown. */
  index: number[];
  private readonly axes: Record<Role, number | null>;
  private chosenAcross: number | undefined;

  constructor(readonly shape: readonly number[]) {
    this.index = shape.map(() => 0);
    const long = shape.flatMap((extent, axis) => (extent > 1 ? [axis] : []));
    const column = long.at(-1) ?? (shape.length > 0 ? shape.length - 1 : null);
    const row = long.at(-2) ?? (shape.length > 1 ? (column === 0 ? 1 : (column ?? 1) - 1) : null);
    const channel = long.at(-3) ?? shape.findIndex((_, axis) => axis !== row && axis !== column);
    this.axes = { row, column, channel: channel < 0 ? null : channel };
  }

  axis(role: Role): number | null {
    return this.axes[role];
  }

  /** Give an axis this role; what had it takes the role that the axis had. */
  setAxis(role: Role, axis: number): void {
    const other = (["row", "column", "channel"] as const).find((one) => this.axes[one] === axis);
    if (other !== undefined) this.axes[other] = this.axes[role];
    this.axes[role] = axis;
    this.chosenAcross = undefined;
  }

  /** Undefined where the axes do not lie like those of an image. */
  get order(): Order | undefined {
    return (["CHW", "HWC"] as const).find((order) => {
      const roles = this.rolesOf(order);
      return (["row", "column", "channel"] as const).every((role) => roles[role] === this.axes[role]);
    });
  }

  setOrder(order: Order): void {
    Object.assign(this.axes, this.rolesOf(order));
    this.chosenAcross = undefined;
  }

  private rolesOf(order: Order): Record<Role, number> {
    const last = this.shape.length - 1;
    return order === "CHW"
      ? { channel: last - 2, row: last - 1, column: last }
      : { row: last - 2, column: last - 1, channel: last };
  }

  get channels(): number {
    return this.extent("channel");
  }

  /** Whether there are channels to lie side by side, and to be red, green and blue. */
  allows(arrangement: Arrangement): boolean {
    if (arrangement === "slice") return true;
    return (
      this.axes.channel !== null && this.channels >= (arrangement === "mosaic" ? MOSAIC_CHANNELS : COLOUR_CHANNELS)
    );
  }

  get isColour(): boolean {
    return this.arrangement === "rgb" || this.arrangement === "bgr";
  }

  /** Slices in a line of the mosaic: as chosen, else so that the whole is about as wide as high. */
  get across(): number {
    const square = Math.round(Math.sqrt((this.channels * this.extent("row")) / this.extent("column")));
    return Math.max(1, Math.min(this.channels, this.chosenAcross ?? square));
  }

  setAcross(across: number): void {
    this.chosenAcross = across;
  }

  get plane(): Plane {
    const { row, column, channel } = this.axes;
    const one = {
      rowAxis: row,
      columnAxis: column,
      index: this.index,
      rows: this.extent("row"),
      columns: this.extent("column"),
    };
    if (this.arrangement !== "mosaic") return { ...one, channelAxis: null, across: 1 };
    const { across } = this;
    return {
      ...one,
      channelAxis: channel,
      across,
      rows: Math.ceil(this.channels / across) * one.rows,
      columns: across * one.columns,
    };
  }

  /** Indices of the slices that a picture is made of: one, or those of red, green and blue. */
  get slices(): number[][] {
    const { channel } = this.axes;
    if (!this.isColour || channel === null) return [this.index];
    const first = this.index[channel] ?? 0;
    const order = this.arrangement === "rgb" ? [0, 1, 2] : [2, 1, 0];
    return order.map((step) => this.index.map((at, axis) => (axis === channel ? first + step : at)));
  }

  /** Rows and columns of one slice. */
  get pane(): { readonly rows: number; readonly columns: number } {
    return { rows: this.extent("row"), columns: this.extent("column") };
  }

  /** The cell itself, or the nearest one of the plane. */
  nearest({ row, column }: Cell): Cell {
    const { rows, columns } = this.plane;
    return { row: Math.max(0, Math.min(rows - 1, row)), column: Math.max(0, Math.min(columns - 1, column)) };
  }

  /** The element at a cell; undefined after the last channel. */
  indexAt({ row, column }: Cell): number[] | undefined {
    const { rows, columns } = this.pane;
    const found = [...this.index];
    const set = (role: Role, at: number) => {
      const axis = this.axes[role];
      if (axis !== null) found[axis] = at;
    };
    set("row", row % rows);
    set("column", column % columns);
    if (this.arrangement !== "mosaic") return found;
    const channel = Math.floor(row / rows) * this.across + Math.floor(column / columns);
    set("channel", channel);
    return channel < this.channels ? found : undefined;
  }

  /** The cell of an element; the axes that are not shown are set to it. */
  show(index: readonly number[]): Cell {
    const { row, column, channel } = this.axes;
    const at = (axis: number | null) => (axis === null ? 0 : (index[axis] ?? 0));
    const isMosaic = this.arrangement === "mosaic";
    this.index = this.index.map((before, axis) =>
      axis === row || axis === column || (isMosaic && axis === channel) ? before : at(axis),
    );
    if (this.isColour) this.firstColour(at(channel));
    const cell = { row: at(row), column: at(column) };
    if (!isMosaic) return cell;
    const { rows, columns } = this.pane;
    return {
      row: Math.floor(at(channel) / this.across) * rows + cell.row,
      column: (at(channel) % this.across) * columns + cell.column,
    };
  }

  /** The channel that the three colours begin with. */
  firstColour(channel: number): void {
    if (this.axes.channel !== null)
      this.index[this.axes.channel] = Math.max(0, Math.min(channel, this.channels - COLOUR_CHANNELS));
  }

  private extent(role: Role): number {
    const axis = this.axes[role];
    return axis === null ? 1 : (this.shape[axis] ?? 1);
  }
}
