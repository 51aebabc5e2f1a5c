import type { Source } from "../../src/protocol/messages";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { short } from "./colours";
import { HeatPainter } from "./heatPainter";
import type { Cell } from "./layout";
import { sourceName } from "./sources";
import { highOf, type Stage } from "./stage";

/** The most pixels of a cell. */
const LARGEST = 96;
/** All rows together are at least this high. */
const STRIP = 32;
/** Pixels that the pointer moves from which on it drags instead of choosing a cell. */
const DRAGGED = 4;
/** By a key or a button; and pixels of the wheel that do so once. */
export const KEY_ZOOM = 2;
const WHEEL_PIXELS = 200;

/** One picture of the plane: of the actual numbers, the reference or the error. */
export class HeatMap {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  private readonly painter: HeatPainter;
  private readonly ends = html("span", { class: "ends" });

  constructor(
    readonly of: Source,
    private readonly stage: Stage,
  ) {
    this.canvas = html("canvas", { tabindex: 0, role: "img", id: `map-${of}`, "aria-describedby": "cursor" });
    this.painter = new HeatPainter(of, stage, this.canvas);
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

  draw(): void {
    const { stage } = this;
    this.painter.paint();
    const { low, high } = stage.range(this.of);
    const { rows, columns } = stage.layout.plane;
    this.ends.textContent = low === -high ? `± ${short(high)}` : t("{0} to {1}", short(low), short(high));
    this.canvas.setAttribute(
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

  private cellAt(event: MouseEvent): Cell | undefined {
    const { camera } = this.stage;
    const { rows, columns } = this.stage.layout.plane;
    const row = Math.floor(camera.top + event.offsetY / highOf(this.stage.camera));
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
      camera.top = start.top - (to.clientY - start.y) / highOf(this.stage.camera);
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
    const [before, after] = [highOf(this.stage.camera), Math.max(scale, highOf(this.stage.camera))];
    camera.left += x / camera.scale - x / scale;
    camera.scale = scale;
    camera.isFitted = false;
    // What is a strip grows across until its cells are square.
    camera.aspect = camera.aspect > 1 ? Math.max(1, after / scale) : 1;
    camera.top += y / before - y / highOf(this.stage.camera);
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
    const high = this.canvas.clientHeight / highOf(this.stage.camera);
    const wide = this.canvas.clientWidth / camera.scale;
    if (row < camera.top || row + 1 > camera.top + high) camera.top = row - high / 2;
    if (column < camera.left || column + 1 > camera.left + wide) camera.left = column - wide / 2;
  }

  private key(event: KeyboardEvent): void {
    const { row, column } = this.stage.cursor;
    const { rows, columns } = this.stage.layout.plane;
    const page = Math.max(1, Math.floor(this.canvas.clientHeight / highOf(this.stage.camera)));
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
