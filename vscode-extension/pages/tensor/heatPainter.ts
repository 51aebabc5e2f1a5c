/** Paints a heat map into its canvas: tiles, lines, numbers, channels and the cursor. */
import type { Source } from "../../src/protocol/messages";
import { paint, paintColour, short } from "./colours";
import { highOf, sightOf, type Stage } from "./stage";
import { SIDE, type Tile } from "./tiles";

/** Pixels of a cell from which on there is a line between cells, and room for a number in each. */
const LINED = 12;
const NUMBERED = 52;
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

export class HeatPainter {
  constructor(
    private readonly of: Source,
    private readonly stage: Stage,
    private readonly canvas: HTMLCanvasElement,
  ) {}

  paint(): void {
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
  }

  private drawTiles(context: CanvasRenderingContext2D): void {
    const { camera } = this.stage;
    const { rows, columns } = this.stage.layout.plane;
    const step = camera.scale >= 1 ? 1 : 2 ** Math.ceil(-Math.log2(camera.scale));
    const side = SIDE * step;
    const seen = sightOf(this.stage, this.canvas);
    for (let row = Math.floor(seen.top / side); row * side < Math.min(rows, seen.bottom); row++) {
      for (let column = Math.floor(seen.left / side); column * side < Math.min(columns, seen.right); column++) {
        const picture = this.picture(this.pieces(step, row, column));
        if (picture === undefined) continue;
        const x = (column * side - camera.left) * camera.scale;
        const y = (row * side - camera.top) * highOf(this.stage.camera);
        const wide = Math.min(side, columns - column * side) * camera.scale;
        const high = Math.min(side, rows - row * side) * highOf(this.stage.camera);
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
    const [high, wide] = [rows * highOf(this.stage.camera), columns * camera.scale];
    const seen = sightOf(this.stage, this.canvas);
    Object.assign(context, { font: FONT, textAlign: "left", textBaseline: "top" });
    for (let line = Math.floor(seen.top / rows); line * rows < seen.bottom; line++) {
      for (let place = Math.floor(seen.left / columns); place * columns < seen.right; place++) {
        const x = (place * columns - camera.left) * camera.scale;
        const y = (line * rows - camera.top) * highOf(this.stage.camera);
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
    const seen = sightOf(this.stage, this.canvas);
    context.strokeStyle = LINE_COLOUR.cell;
    context.lineWidth = 1;
    context.beginPath();
    for (let row = Math.max(0, Math.ceil(seen.top)); row <= seen.bottom; row++) {
      const y = Math.round((row - camera.top) * highOf(this.stage.camera)) + SHARP;
      context.moveTo((seen.left - camera.left) * camera.scale, y);
      context.lineTo((seen.right - camera.left) * camera.scale, y);
    }
    for (let column = Math.max(0, Math.ceil(seen.left)); column <= seen.right; column++) {
      const x = Math.round((column - camera.left) * camera.scale) + SHARP;
      context.moveTo(x, (seen.top - camera.top) * highOf(this.stage.camera));
      context.lineTo(x, (seen.bottom - camera.top) * highOf(this.stage.camera));
    }
    context.stroke();
  }

  private drawNumbers(context: CanvasRenderingContext2D): void {
    const { camera, tiles } = this.stage;
    const seen = sightOf(this.stage, this.canvas);
    Object.assign(context, { font: FONT, textAlign: "center", textBaseline: "middle", lineWidth: NUMBER.width });
    for (let row = Math.floor(seen.top); row < seen.bottom; row++) {
      for (let column = Math.floor(seen.left); column < seen.right; column++) {
        const number = tiles.number(this.of, row, column);
        if (number === undefined) continue;
        const x = (column + 0.5 - camera.left) * camera.scale;
        const y = (row + 0.5 - camera.top) * highOf(this.stage.camera);
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
    const [wide, high] = [Math.max(CURSOR.least, camera.scale), Math.max(CURSOR.least, highOf(this.stage.camera))];
    const x = (cursor.column + 0.5 - camera.left) * camera.scale - wide / 2;
    const y = (cursor.row + 0.5 - camera.top) * highOf(this.stage.camera) - high / 2;
    for (const { colour, width } of CURSOR.lines) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(x, y, wide, high);
    }
  }
}
