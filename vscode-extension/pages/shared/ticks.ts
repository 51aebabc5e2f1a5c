/** Round numbers inside [from, to], about as many as asked for; never closer than `least`. */
export function ticks(from: number, to: number, wanted: number, least = 0): number[] {
  const rough = Math.max((to - from) / Math.max(wanted, 1), least, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

/** A part of an axis that can be zoomed and moved but does not leave [first, last]. */
export class Span {
  from: number;
  to: number;

  constructor(
    readonly first: number,
    readonly last: number,
    readonly least: number,
  ) {
    this.from = first;
    this.to = last;
  }

  get length(): number {
    return this.to - this.from;
  }

  fit(): void {
    this.from = this.first;
    this.to = this.last;
  }

  /** Make the visible part `factor` times as long; the point `at` stays where it is. */
  zoom(factor: number, at: number): void {
    const length = Math.min(Math.max(this.length * factor, this.least), this.last - this.first);
    const share = this.length > 0 ? (at - this.from) / this.length : 0.5;
    this.place(at - share * length, length);
  }

  move(by: number): void {
    this.place(this.from + by, this.length);
  }

  /** Make a range visible, by moving if it is not. */
  reveal(from: number, to: number): void {
    if (from < this.from || to > this.to) this.place((from + to) / 2 - this.length / 2, this.length);
  }

  private place(from: number, length: number): void {
    this.from = Math.min(Math.max(from, this.first), this.last - length);
    this.to = this.from + length;
  }
}
