/** Numbers as colours. */
import { t } from "../shared/l10n";

export interface Range {
  readonly low: number;
  readonly high: number;
}

export type Colour = readonly [number, number, number];

/** Viridis in nine steps, of matplotlib (CC0): even to the eye, also in grey and to the colour-blind. */
const EVEN: readonly Colour[] = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];
const GREY: readonly Colour[] = [
  [0, 0, 0],
  [255, 255, 255],
];
/** Red-blue of ColorBrewer, white where there is no error. */
export const SIGNED: readonly Colour[] = [
  [5, 48, 97],
  [67, 147, 195],
  [209, 229, 240],
  [247, 247, 247],
  [253, 219, 199],
  [214, 96, 77],
  [103, 0, 31],
];
/** Magenta, orange and cyan: in none of the palettes. */
export const NAN: Colour = [255, 0, 255];
export const INFINITE: Colour = [255, 140, 0];
export const OUTSIDE: Colour = [0, 220, 255];

export const PALETTES = { viridis: EVEN, grey: GREY, "red-blue": SIGNED } as const;
export type PaletteName = keyof typeof PALETTES;

/** The colours that say what a number is rather than how large. */
export const MARKS: readonly (readonly [string, Colour])[] = [
  ["NaN", NAN],
  ["Inf", INFINITE],
  [t("out of range"), OUTSIDE],
];

/** Values of a channel of a pixel, the largest and the middle one. */
const LEVELS = 256;
const LAST = LEVELS - 1;
const MIDDLE = LEVELS / 2;
/** Bytes of a pixel. */
const PIXEL = 4;
/** Integers up to this are written whole, fractions below that with an exponent. */
const WHOLE = 1e7;
const TINY = 1e-3;

/** Pixels of numbers, RGBA. `mark`: finite numbers outside of the range have the colour OUTSIDE, else the nearest. */
export function paint(
  numbers: ArrayLike<number>,
  range: Range,
  colours: readonly Colour[],
  mark: boolean,
): Uint8ClampedArray<ArrayBuffer> {
  const ramp = shades(colours);
  const place = placing(range);
  return pixels(numbers.length, (i) => {
    const number = numbers[i] ?? NaN;
    return strange(number, range, mark) ?? ramp[place(number)] ?? NAN;
  });
}

/** Pixels of three channels, RGBA: black at the lower end of the range, white at the upper one. */
export function paintColour(
  channels: readonly [ArrayLike<number>, ArrayLike<number>, ArrayLike<number>],
  range: Range,
  mark: boolean,
): Uint8ClampedArray<ArrayBuffer> {
  const place = placing(range);
  return pixels(channels[0].length, (i) => {
    const [red, green, blue] = [channels[0][i] ?? NaN, channels[1][i] ?? NaN, channels[2][i] ?? NaN];
    for (const number of [red, green, blue]) {
      const marked = strange(number, range, mark);
      if (marked !== undefined) return marked;
    }
    return [place(red), place(green), place(blue)];
  });
}

function pixels(count: number, colour: (i: number) => Colour): Uint8ClampedArray<ArrayBuffer> {
  const painted = new Uint8ClampedArray(PIXEL * count);
  for (let i = 0; i < count; i++) {
    const [red, green, blue] = colour(i);
    const at = PIXEL * i;
    painted[at] = red;
    painted[at + 1] = green;
    painted[at + 2] = blue;
    painted[at + 3] = LAST;
  }
  return painted;
}

function strange(number: number, { low, high }: Range, mark: boolean): Colour | undefined {
  if (Number.isNaN(number)) return NAN;
  if (!Number.isFinite(number)) return INFINITE;
  return mark && (number < low || number > high) ? OUTSIDE : undefined;
}

/** From a number to one of 256 places in the range; the middle where the range is a single number. */
function placing({ low, high }: Range): (number: number) => number {
  const scale = high > low ? LAST / (high - low) : 0;
  return (number) => (scale === 0 ? MIDDLE : Math.max(0, Math.min(LAST, Math.round((number - low) * scale))));
}

/** 256 colours, straight between the given ones. */
function shades(colours: readonly Colour[]): Colour[] {
  return Array.from({ length: LEVELS }, (_, i) => {
    const at = (i / LAST) * (colours.length - 1);
    const below = colours[Math.floor(at)] ?? NAN;
    const above = colours[Math.ceil(at)] ?? below;
    const share = at - Math.floor(at);
    return [0, 1, 2].map((c) =>
      Math.round((below[c] ?? 0) + share * ((above[c] ?? 0) - (below[c] ?? 0))),
    ) as unknown as Colour;
  });
}

/** A number in few characters. */
export function short(number: number | null | undefined): string {
  if (number === null || number === undefined) return t("none");
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "Inf" : "-Inf";
  if (Number.isInteger(number) && Math.abs(number) < WHOLE) return String(number);
  return Math.abs(number) < TINY ? number.toExponential(2) : String(Number(number.toPrecision(5)));
}
