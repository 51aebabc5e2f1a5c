/** An axis of bytes on which stretches that nothing ever uses take little room. */
import type { Memory } from "../../src/protocol/generated";

/** A gap is folded if it is longer than this share of all; and then is drawn as long as this share of what is used. */
const FOLDED_FROM = 0.04;
const FOLDED_TO = 0.03;

/** Bytes [start, stop) that nothing uses at any time. */
export interface Gap {
  readonly start: number;
  readonly stop: number;
}

/** A piece of the axis: bytes from `byte` on lie from `at` on, each `scale` long. */
interface Piece {
  readonly byte: number;
  readonly at: number;
  readonly scale: number;
}

export class Fold {
  readonly gaps: readonly Gap[];
  readonly length: number;
  private readonly pieces: readonly Piece[];

  /** `from` and `to`: ends of the axis in bytes. */
  constructor(
    readonly from: number,
    readonly to: number,
    gaps: readonly Gap[] = [],
  ) {
    this.gaps = gaps;
    const used = gaps.reduce((left, { start, stop }) => left - (stop - start), to - from);
    const short = Math.max(used * FOLDED_TO, Number.MIN_VALUE);
    const pieces: Piece[] = [];
    let [byte, at] = [from, 0];
    for (const { start, stop } of gaps) {
      if (start > byte) pieces.push({ byte, at, scale: 1 });
      at += start - byte;
      pieces.push({ byte: start, at, scale: short / (stop - start) });
      at += short;
      byte = stop;
    }
    if (to > byte || pieces.length === 0) pieces.push({ byte, at, scale: 1 });
    this.pieces = pieces;
    this.length = at + to - byte;
  }

  /** Gaps of a memory that are worth folding, over the whole time. */
  static of(memory: Memory, from: number, to: number): Fold {
    if (memory.residents.length === 0) return new Fold(from, to);
    const gaps: Gap[] = [];
    let end = from;
    const take = (start: number) => {
      if (start - end > FOLDED_FROM * (to - from)) gaps.push({ start: end, stop: start });
    };
    for (const { start, stop } of [...memory.residents].sort((one, other) => one.start - other.start)) {
      take(start);
      end = Math.max(end, stop);
    }
    take(to);
    return new Fold(from, to, gaps);
  }

  /** Position of a byte on the axis. */
  place(byte: number): number {
    const piece = this.piece((one) => one.byte <= byte);
    return piece.at + (byte - piece.byte) * piece.scale;
  }

  /** The byte at a position. */
  byteAt(place: number): number {
    const piece = this.piece(({ at }) => at <= place);
    return piece.byte + (place - piece.at) / piece.scale;
  }

  /** The last piece that is so, else the first one. */
  private piece(is: (piece: Piece) => boolean): Piece {
    let found = this.pieces[0] ?? { byte: this.from, at: 0, scale: 1 };
    for (const piece of this.pieces) if (is(piece)) found = piece;
    return found;
  }

  /** Whether a byte lies in a folded gap, its ends not counted. */
  hides(byte: number): boolean {
    return this.gaps.some(({ start, stop }) => start < byte && byte < stop);
  }
}
