import type { TensorNumbers } from "../../src/protocol/generated";
import type { NumberKind } from "../../src/protocol/messages";
import { ask } from "../shared/host";
import type { Range } from "./colours";
import type { Plane } from "./layout";
import type { Part } from "./subjects";

/** Cells of a tile along each side. */
export const SIDE = 256;
/** The adapter answers one after the other, and what has not been asked for yet can still be left out. */
const REQUESTS_AT_ONCE = 4;
/** About 100 MB of numbers. */
const TILES_KEPT = 400;

export interface Tile {
  readonly rows: number;
  readonly columns: number;
  readonly numbers: Float32Array | Float64Array;
  /** Different for every tile. */
  readonly serial: number;
  /** Its picture in some colours, kept by the heat map. */
  picture?: { readonly key: string; readonly canvas: OffscreenCanvas };
}

interface Wanted {
  readonly of: NumberKind;
  readonly step: number;
  readonly row: number;
  readonly column: number;
  readonly index: readonly number[];
}

/** The parts of a plane that have been looked at, fetched as they come into sight. */
export class Tiles {
  private known = new Map<string, Tile>();
  /** Tiles from before the last stop: drawn until the new numbers have arrived. */
  private old = new Map<string, Tile>();
  private wanted = new Map<string, Wanted>();
  private readonly extents = new Map<NumberKind, Range>();
  private readonly asked = new Set<string>();
  private generation = 0;
  private serial = 0;

  constructor(
    private readonly part: (of: NumberKind) => Part<NumberKind>,
    private readonly plane: () => Plane,
    private readonly arrived: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** The numbers may be others now. */
  refresh(): void {
    for (const [key, tile] of this.known) this.old.set(key, tile);
    this.renew();
  }

  /** Another plane or tensor is shown. */
  clear(): void {
    this.old.clear();
    this.renew();
  }

  private renew(): void {
    this.known = new Map();
    this.wanted = new Map();
    this.asked.clear();
    this.extents.clear();
    this.generation++;
  }

  /** The least and the greatest finite number seen so far. */
  extent(of: NumberKind): Range | undefined {
    return this.extents.get(of);
  }

  get complete(): boolean {
    return this.wanted.size === 0 && this.asked.size === 0;
  }

  /** Say what is in sight: what was wanted before, and has not been asked for, is not wanted any more. */
  look(): void {
    this.wanted.clear();
  }

  /**
   * The tile, or what is known of it; it is fetched if that is not the present one. Row and column count tiles.
   *
   * `index`: of another slice than that of the plane.
   */
  get(of: NumberKind, step: number, row: number, column: number, index = this.plane().index): Tile | undefined {
    const key = `${of} ${String(step)} ${String(row)} ${String(column)} ${index.join()}`;
    const tile = this.known.get(key);
    if (tile !== undefined) return tile;
    if (!this.asked.has(key)) this.wanted.set(key, { of, step, row, column, index: [...index] });
    return this.old.get(key);
  }

  /** One number at full resolution, if it is known. */
  number(of: NumberKind, row: number, column: number): number | undefined {
    const tile = this.get(of, 1, Math.floor(row / SIDE), Math.floor(column / SIDE));
    return tile?.numbers[(row % SIDE) * tile.columns + (column % SIDE)];
  }

  /** Fetch what is wanted, a few at a time. */
  fetch(): void {
    for (const [key, wanted] of this.wanted) {
      if (this.asked.size >= REQUESTS_AT_ONCE) return;
      this.wanted.delete(key);
      this.asked.add(key);
      void this.load(key, wanted, this.generation);
    }
  }

  private async load(key: string, { of, step, row, column, index }: Wanted, generation: number): Promise<void> {
    const { rowAxis, columnAxis, channelAxis, across, rows, columns } = this.plane();
    const side = SIDE * step;
    const span = (at: number, extent: number): [number, number] => [at * side, Math.min((at + 1) * side, extent)];
    try {
      const answer = await ask("tdb/tensorTile", {
        ...this.part(of),
        rowAxis,
        columnAxis,
        channelAxis,
        across,
        index,
        step,
        rows: span(row, rows),
        columns: span(column, columns),
      });
      if (generation !== this.generation) return;
      this.asked.delete(key);
      this.old.delete(key);
      const oldest = this.known.size >= TILES_KEPT ? this.known.keys().next().value : undefined;
      if (oldest !== undefined) this.known.delete(oldest);
      const [height = 1, width = 1] = answer.shape;
      const numbers = decode(answer);
      this.known.set(key, { rows: height, columns: width, numbers, serial: ++this.serial });
      this.widen(of, numbers);
    } catch (error) {
      if (generation !== this.generation) return;
      this.asked.delete(key);
      this.failed(error);
      return;
    }
    this.arrived();
  }

  private widen(of: NumberKind, numbers: Iterable<number>): void {
    let { low, high } = this.extents.get(of) ?? { low: Infinity, high: -Infinity };
    for (const number of numbers) {
      if (!Number.isFinite(number)) continue;
      low = Math.min(low, number);
      high = Math.max(high, number);
    }
    if (low <= high) this.extents.set(of, { low, high });
  }
}

function decode({ format, data }: TensorNumbers): Float32Array | Float64Array {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  return format === "f32" ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer);
}
