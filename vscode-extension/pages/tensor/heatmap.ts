import type { Source } from "../../src/protocol/messages";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { paint, paintColour, short, type Colour, type Range } from "./colours";
import type { Cell, Layout } from "./layout";
import { sourceName } from "./sources";
import { SIDE, type Tile, type Tiles } from "./tiles";

/** Pixels of a cell from which on there is a line between cells, room for a number in each, and the most there are. */
const LINED = 12;
const NUMBERED = 52;
const LARGEST = 96;
/** All rows together are at least this high. */
const STRIP = 32;
/** Marks when something is painted first, for the benchmark. */
const FIRST_PICTURE = "first picture";
/** Pixels of a channel's slice from which on its number is written into it. */
const NAMED = 34;
/** And from which on there is a line around it. */
const BORDERED = 4;
const FONT = "11px monospace";
const LINE_COLOUR = { channel: "rgba(128, 128, 128, 0.9)", cell: "rgba(128, 128, 128, 0.4)" } as const;
/** A channel's number on its plate; pixels. */
const PLATE = { colour: "rgba(0, 0, 0, 0.6)", text: "white", edge: 1, inset: 3, room: 4, height: 14 } as const;
/** A number in its cell, with an outline that any colour shows; pixels. */
const NUMBER = { text: "white", outline: "black", width: 3, inset: 2 } as const;
/** The frame around the cell at the cursor, the outer line first; pixels. */
const CURSOR = {
  least: 5,
  lines: [
    { colour: "black", width: 4 },
    { colour: "white", width: 2 },
  ],
} as const;
/** A line of one pixel is sharp in the middle of a pixel. */
const SHARP = 0.5;
/** Pixels that the pointer moves from which on it drags instead of choosing a cell. */
const DRAGGED = 4;
/** By a key or a button; and pixels of the wheel that do so once. */
export const KEY_ZOOM = 2;
const WHEEL_PIXELS = 200;

/** The visible part of the plane, shared by all heat maps of a view. */
export interface Camera {
  /** Row and column of the upper left corner; fractions are allowed. */
  top: number;
  left: number;
  /** Pixels of a cell across. */
  scale: number;
  /** Height of a cell as a multiple of that: few rows are drawn tall enough to be seen. */
  aspect: number;
  /** Whether all is in sight, and is to stay so when the page changes its size. */
  isFitted: boolean;
}

export interface Stage {
  readonly camera: Camera;
  readonly cursor: Cell;
  readonly tiles: Tiles;
  readonly layout: Layout;
  range(of: Source): Range;
  /** Whether numbers outside of the range are marked. */
  marks(of: Source): boolean;
  colours(of: Source): readonly Colour[];
  moveTo(cell: Cell): void;
  redraw(): void;
  hover(cell: Cell | undefined): void;
  /** What the tensor is compared with in place of its reference. */
  readonly other: string | undefined;
}

/** One picture of the plane: of the actual numbers, the reference or the error. */
export class HeatMap {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  private readonly ends = html("span", { class: "ends" });

  constructor(
    readonly of: Source,
    private readonly stage: Stage,
  ) {
    this.canvas = html("canvas", { tabindex: 0, role: "img", id: `map-${of}`, "aria-describedby": "cursor" });
    this.element = html(
      "figure",
      { class: "map" },
      html("figcaption", {}, html("span", {}, sourceName(of, stage.other)), this.ends),
      html("div", { class: "frame" }, this.canvas),
    );
    this.canvas.addEventListener("keydown", (event) => {
      this.key(event);
    });
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        this.wheel(event);
      },
      { passive: false },
    );
    this.canvas.addEventListener("pointerdown", (event) => {
      this.press(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.stage.hover(this.cellAt(event));
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.stage.hover(undefined);
    });
    new ResizeObserver(() => {
      if (this.stage.camera.isFitted) this.stage.camera.scale = 0;
      this.stage.redraw();
    }).observe(this.canvas);
  }

  /** Show all of the plane. */
  fit(): void {
    const { camera, layout } = this.stage;
    const { rows } = layout.plane;
    camera.scale = this.wholeScale;
    camera.isFitted = true;
    // A row that is a sliver becomes a strip.
    camera.aspect = Math.max(1, Math.min(this.canvas.clientHeight, STRIP) / (rows * camera.scale));
  }

  /** Pixels in height that all of the plane takes at the width that there is: a higher frame would be empty below. */
  get highest(): number {
    const { rows, columns } = this.stage.layout.plane;
    return Math.max(STRIP, rows * Math.min(LARGEST, this.canvas.clientWidth / columns));
  }

  /** The scale at which all of the plane is in sight. */
  private get wholeScale(): number {
    const { rows, columns } = this.stage.layout.plane;
    return Math.min(LARGEST, this.canvas.clientWidth / columns, this.canvas.clientHeight / rows) || 1;
  }

  /** Pixels of a cell downwards. */
  private get high(): number {
    const { scale, aspect } = this.stage.camera;
    return scale * aspect;
  }

  draw(): void {
    const { canvas, stage } = this;
    const ratio = window.devicePixelRatio;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    if (context === null || width === 0 || height === 0) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.imageSmoothingEnabled = false;
    this.drawTiles(context);
    if (stage.camera.scale >= LINED) this.drawLines(context);
    if (stage.camera.scale >= NUMBERED && !stage.layout.isColour) this.drawNumbers(context);
    if (stage.layout.arrangement === "mosaic") this.drawChannels(context);
    this.drawCursor(context);
    const { low, high } = stage.range(this.of);
    const { rows, columns } = stage.layout.plane;
    this.ends.textContent = low === -high ? `± ${short(high)}` : t("{0} to {1}", short(low), short(high));
    canvas.setAttribute(
      "aria-label",
      t(
        "{0}: heat map, {1} rows, {2} columns, colours from {3} to {4}",
        sourceName(this.of, stage.other),
        rows,
        columns,
        short(low),
        short(high),
      ),
    );
  }

  private drawTiles(context: CanvasRenderingContext2D): void {
    const { camera } = this.stage;
    const { rows, columns } = this.stage.layout.plane;
    const step = camera.scale >= 1 ? 1 : 2 ** Math.ceil(-Math.log2(camera.scale));
    const side = SIDE * step;
    const seen = this.seen();
    for (let row = Math.floor(seen.top / side); row * side < Math.min(rows, seen.bottom); row++) {
      for (let column = Math.floor(seen.left / side); column * side < Math.min(columns, seen.right); column++) {
        const picture = this.picture(this.pieces(step, row, column));
        if (picture === undefined) continue;
        const x = (column * side - camera.left) * camera.scale;
        const y = (row * side - camera.top) * this.high;
        const wide = Math.min(side, columns - column * side) * camera.scale;
        const high = Math.min(side, rows - row * side) * this.high;
        context.drawImage(picture, x, y, wide, high);
        if (performance.getEntriesByName(FIRST_PICTURE).length === 0) performance.mark(FIRST_PICTURE);
      }
    }
  }

  /** The tile at a place, or in colour those of red, green and blue; what is not known yet is missing. */
  private pieces(step: number, row: number, column: number): Tile[] {
    const { layout, tiles } = this.stage;
    return layout.slices
      .map((index) => tiles.get(this.of, step, row, column, index))
      .filter((tile) => tile !== undefined);
  }

  /** Painted once for each range: with the first tile it is kept. Undefined while a colour is missing. */
  private picture(pieces: readonly Tile[]): OffscreenCanvas | undefined {
    const { layout } = this.stage;
    const [first, second, third] = pieces;
    if (first === undefined || pieces.length < layout.slices.length) return undefined;
    const range = this.stage.range(this.of);
    const marks = this.stage.marks(this.of);
    const colours = this.stage.colours(this.of);
    const key = [range.low, range.high, marks, colours.join(), ...pieces.map(({ serial }) => serial)].join(" ");
    if (first.picture?.key !== key) {
      const canvas = new OffscreenCanvas(first.columns, first.rows);
      const pixels =
        second && third
          ? paintColour([first.numbers, second.numbers, third.numbers], range, marks)
          : paint(first.numbers, range, colours, marks);
      canvas.getContext("2d")?.putImageData(new ImageData(pixels, first.columns, first.rows), 0, 0);
      first.picture = { key, canvas };
    }
    return first.picture.canvas;
  }

  /** Lines between the channels of a mosaic, their numbers, and nothing after the last one. */
  private drawChannels(context: CanvasRenderingContext2D): void {
    const { camera, layout } = this.stage;
    const { rows, columns } = layout.pane;
    const [high, wide] = [rows * this.high, columns * camera.scale];
    const seen = this.seen();
    Object.assign(context, { font: FONT, textAlign: "left", textBaseline: "top" });
    for (let line = Math.floor(seen.top / rows); line * rows < seen.bottom; line++) {
      for (let place = Math.floor(seen.left / columns); place * columns < seen.right; place++) {
        const x = (place * columns - camera.left) * camera.scale;
        const y = (line * rows - camera.top) * this.high;
        const channel = line * layout.across + place;
        if (channel >= layout.channels) {
          context.clearRect(x, y, wide + 1, high + 1);
          continue;
        }
        Object.assign(context, { strokeStyle: LINE_COLOUR.channel, lineWidth: 1 });
        if (Math.min(wide, high) >= BORDERED)
          context.strokeRect(Math.round(x) + SHARP, Math.round(y) + SHARP, wide, high);
        if (Math.min(wide, high) < NAMED) continue;
        const name = String(channel);
        context.fillStyle = PLATE.colour;
        context.fillRect(x + PLATE.edge, y + PLATE.edge, context.measureText(name).width + PLATE.room, PLATE.height);
        context.fillStyle = PLATE.text;
        context.fillText(name, x + PLATE.inset, y + PLATE.inset);
      }
    }
  }

  private drawLines(context: CanvasRenderingContext2D): void {
    const { camera } = this.stage;
    const seen = this.seen();
    context.strokeStyle = LINE_COLOUR.cell;
    context.lineWidth = 1;
    context.beginPath();
    for (let row = Math.max(0, Math.ceil(seen.top)); row <= seen.bottom; row++) {
      const y = Math.round((row - camera.top) * this.high) + SHARP;
      context.moveTo((seen.left - camera.left) * camera.scale, y);
      context.lineTo((seen.right - camera.left) * camera.scale, y);
    }
    for (let column = Math.max(0, Math.ceil(seen.left)); column <= seen.right; column++) {
      const x = Math.round((column - camera.left) * camera.scale) + SHARP;
      context.moveTo(x, (seen.top - camera.top) * this.high);
      context.lineTo(x, (seen.bottom - camera.top) * this.high);
    }
    context.stroke();
  }

  private drawNumbers(context: CanvasRenderingContext2D): void {
    const { camera, tiles } = this.stage;
    const seen = this.seen();
    Object.assign(context, { font: FONT, textAlign: "center", textBaseline: "middle", lineWidth: NUMBER.width });
    for (let row = Math.floor(seen.top); row < seen.bottom; row++) {
      for (let column = Math.floor(seen.left); column < seen.right; column++) {
        const number = tiles.number(this.of, row, column);
        if (number === undefined) continue;
        const x = (column + 0.5 - camera.left) * camera.scale;
        const y = (row + 0.5 - camera.top) * this.high;
        const room = camera.scale - 2 * NUMBER.inset;
        context.strokeStyle = NUMBER.outline;
        context.fillStyle = NUMBER.text;
        context.strokeText(short(number), x, y, room);
        context.fillText(short(number), x, y, room);
      }
    }
  }

  private drawCursor(context: CanvasRenderingContext2D): void {
    const { camera, cursor } = this.stage;
    const [wide, high] = [Math.max(CURSOR.least, camera.scale), Math.max(CURSOR.least, this.high)];
    const x = (cursor.column + 0.5 - camera.left) * camera.scale - wide / 2;
    const y = (cursor.row + 0.5 - camera.top) * this.high - high / 2;
    for (const { colour, width } of CURSOR.lines) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(x, y, wide, high);
    }
  }

  /** The part of the plane that is in sight, in rows and columns. */
  private seen(): { top: number; left: number; bottom: number; right: number } {
    const { top, left, scale } = this.stage.camera;
    const { rows, columns } = this.stage.layout.plane;
    return {
      top: Math.max(0, top),
      left: Math.max(0, left),
      bottom: Math.min(rows, top + this.canvas.clientHeight / this.high),
      right: Math.min(columns, left + this.canvas.clientWidth / scale),
    };
  }

  private cellAt(event: MouseEvent): Cell | undefined {
    const { camera } = this.stage;
    const { rows, columns } = this.stage.layout.plane;
    const row = Math.floor(camera.top + event.offsetY / this.high);
    const column = Math.floor(camera.left + event.offsetX / camera.scale);
    return row >= 0 && column >= 0 && row < rows && column < columns ? { row, column } : undefined;
  }

  private press(event: PointerEvent): void {
    const { camera } = this.stage;
    const start = { x: event.clientX, y: event.clientY, top: camera.top, left: camera.left };
    let dragged = false;
    const move = (to: PointerEvent) => {
      dragged ||= Math.hypot(to.clientX - start.x, to.clientY - start.y) > DRAGGED;
      if (!dragged) return;
      camera.isFitted = false;
      camera.left = start.left - (to.clientX - start.x) / camera.scale;
      camera.top = start.top - (to.clientY - start.y) / this.high;
      this.stage.redraw();
    };
    const release = (to: PointerEvent) => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", release);
      const cell = this.cellAt(to);
      if (!dragged && cell) this.stage.moveTo(cell);
    };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", release);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    if (event.shiftKey) {
      this.stage.camera.left += (event.deltaX || event.deltaY) / this.stage.camera.scale;
      this.stage.redraw();
    } else this.zoom(KEY_ZOOM ** (-event.deltaY / WHEEL_PIXELS), event.offsetX, event.offsetY);
  }

  /** Make cells larger by `factor`, the one at (x, y) staying where it is. */
  zoom(factor: number, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2): void {
    const { camera } = this.stage;
    const scale = Math.max(Math.min(1, this.wholeScale), Math.min(LARGEST, camera.scale * factor));
    const [before, after] = [this.high, Math.max(scale, this.high)];
    camera.left += x / camera.scale - x / scale;
    camera.scale = scale;
    camera.isFitted = false;
    // What is a strip grows across until its cells are square.
    camera.aspect = camera.aspect > 1 ? Math.max(1, after / scale) : 1;
    camera.top += y / before - y / this.high;
    this.stage.redraw();
  }

  /** All of the plane in the middle. */
  whole(): void {
    const { camera } = this.stage;
    this.fit();
    camera.top = camera.left = 0;
    this.stage.redraw();
  }

  /** Bring a cell into sight. */
  reveal({ row, column }: Cell): void {
    const { camera } = this.stage;
    const high = this.canvas.clientHeight / this.high;
    const wide = this.canvas.clientWidth / camera.scale;
    if (row < camera.top || row + 1 > camera.top + high) camera.top = row - high / 2;
    if (column < camera.left || column + 1 > camera.left + wide) camera.left = column - wide / 2;
  }

  private key(event: KeyboardEvent): void {
    const { row, column } = this.stage.cursor;
    const { rows, columns } = this.stage.layout.plane;
    const page = Math.max(1, Math.floor(this.canvas.clientHeight / this.high));
    const moves: Record<string, Cell> = {
      ArrowUp: { row: row - 1, column },
      ArrowDown: { row: row + 1, column },
      ArrowLeft: { row, column: column - 1 },
      ArrowRight: { row, column: column + 1 },
      PageUp: { row: row - page, column },
      PageDown: { row: row + page, column },
      Home: { row: event.ctrlKey ? 0 : row, column: 0 },
      End: { row: event.ctrlKey ? rows - 1 : row, column: columns - 1 },
    };
    const to = moves[event.key];
    if (to) this.stage.moveTo(to);
    else if (event.key === "+" || event.key === "=") this.zoom(KEY_ZOOM);
    else if (event.key === "-") this.zoom(1 / KEY_ZOOM);
    else if (event.key === "0") this.whole();
    else return;
    event.preventDefault();
  }
}
