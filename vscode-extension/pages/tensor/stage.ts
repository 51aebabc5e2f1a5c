/** What the pictures and the table of a tensor share: the part in sight, the cursor, the colours. */
import type { Source } from "../../src/protocol/messages";
import type { Colour, Range } from "./colours";
import type { Cell, Layout } from "./layout";
import type { Tiles } from "./tiles";

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

/** Pixels of a cell downwards. */
export function highOf({ scale, aspect }: Camera): number {
  return scale * aspect;
}

/** The part of the plane that is in sight of a canvas, in rows and columns. */
export function sightOf(
  { camera, layout }: Stage,
  canvas: HTMLCanvasElement,
): { top: number; left: number; bottom: number; right: number } {
  const { top, left, scale } = camera;
  const { rows, columns } = layout.plane;
  return {
    top: Math.max(0, top),
    left: Math.max(0, left),
    bottom: Math.min(rows, top + canvas.clientHeight / highOf(camera)),
    right: Math.min(columns, left + canvas.clientWidth / scale),
  };
}
