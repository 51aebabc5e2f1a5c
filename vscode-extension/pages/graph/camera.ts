/** Which part of the graph is in sight, and how large. */
import { NODE, type Point } from "./measures";

/** Scales: the limits. */
const SCALE = { least: 0.01, most: 3 } as const;
/** Elements are made for what is in sight and as much again on each side. */
const MARGIN = 1;

/** A rectangle of the graph. */
export interface Sight {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export class Camera {
  /** Pixels from the corner of the page to that of the graph. */
  private x = 0;
  private y = 0;
  private factor = 1;

  /** `page`: what the graph is seen in, of this size at present. */
  constructor(private readonly page: { readonly clientWidth: number; readonly clientHeight: number }) {}

  /** Pixels of a unit of the graph. */
  get scale(): number {
    return this.factor;
  }

  get sight(): Sight {
    const { clientWidth, clientHeight } = this.page;
    return {
      left: -this.x / this.scale,
      top: -this.y / this.scale,
      width: clientWidth / this.scale,
      height: clientHeight / this.scale,
    };
  }

  /** As SVG writes it. */
  get transform(): string {
    return `translate(${String(this.x)} ${String(this.y)}) scale(${String(this.scale)})`;
  }

  /** The point of the graph at these pixels stays there. */
  zoom(factor: number, x = this.page.clientWidth / 2, y = this.page.clientHeight / 2): void {
    const scale = Math.min(Math.max(this.scale * factor, SCALE.least), SCALE.most);
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.factor = scale;
  }

  /** All of a graph of this size, and nothing larger than it is. */
  fit({ width, height }: { readonly width: number; readonly height: number }): void {
    const { clientWidth, clientHeight } = this.page;
    this.factor = Math.max(Math.min(clientWidth / width, clientHeight / height, 1), SCALE.least);
    this.x = (clientWidth - width * this.scale) / 2;
    this.y = 0;
  }

  /** By pixels. */
  pan(x: number, y: number): void {
    this.x += x;
    this.y += y;
  }

  /** What was at one point of the graph is at another, and stays where it is seen. */
  follow(before: Point, after: Point): void {
    this.pan((before.x - after.x) * this.scale, (before.y - after.y) * this.scale);
  }

  centre({ x, y }: Point): void {
    this.x = this.page.clientWidth / 2 - x * this.scale;
    this.y = this.page.clientHeight / 2 - y * this.scale;
  }

  /** Bring a box into sight; `always`: into the middle, even if it is in sight. */
  reveal({ x, y }: Point, always: boolean): void {
    const { left, top, width, height } = this.sight;
    const isAcross = left <= x - NODE.width / 2 && x + NODE.width / 2 <= left + width;
    const isDown = top <= y - NODE.height / 2 && y + NODE.height / 2 <= top + height;
    if (always || !isAcross) this.x = this.page.clientWidth / 2 - x * this.scale;
    // Nothing is above the first op: what is below it is of more use than empty space.
    if (always || !isDown) this.y = Math.min(this.page.clientHeight / 2 - y * this.scale, 0);
  }
}

export function grown({ left, top, width, height }: Sight): Sight {
  return {
    left: left - MARGIN * width,
    top: top - MARGIN * height,
    width: (1 + 2 * MARGIN) * width,
    height: (1 + 2 * MARGIN) * height,
  };
}

export function contains(outer: Sight, inner: Sight): boolean {
  if (outer.width === Infinity) return true;
  return (
    outer.left <= inner.left &&
    outer.top <= inner.top &&
    outer.left + outer.width >= inner.left + inner.width &&
    outer.top + outer.height >= inner.top + inner.height
  );
}
