/** Numbers as colours. */

export interface Range {
  readonly low: number;
  readonly high: number;
}

type Colour = readonly [number, number, number];

/** Viridis in nine steps, of matplotlib (CC0): even to the eye, also in grey and to the colour-blind. */
const EVEN: readonly Colour[] = [
  [68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37],
];
/** Red-blue of ColorBrewer, white where there is no error. */
const SIGNED: readonly Colour[] = [
  [5, 48, 97], [67, 147, 195], [209, 229, 240], [247, 247, 247], [253, 219, 199], [214, 96, 77], [103, 0, 31],
];
export const NAN: Colour = [255, 0, 255];
export const INFINITE: Colour = [255, 140, 0];
export const OUTSIDE: Colour = [0, 220, 255];

export function palette(signed: boolean): readonly Colour[] {
  return signed ? SIGNED : EVEN;
}

/** Pixels of numbers, RGBA. `mark`: finite numbers outside of the range have a colour of their own, else the nearest. */
export function paint(numbers: ArrayLike<number>, { low, high }: Range, colours: readonly Colour[], mark: boolean): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * numbers.length);
  const ramp = shades(colours);
  const scale = high > low ? 255 / (high - low) : 0;
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i] ?? NaN;
    let colour: Colour | undefined;
    if (Number.isNaN(number)) colour = NAN;
    else if (!Number.isFinite(number)) colour = INFINITE;
    else if (mark && (number < low || number > high)) colour = OUTSIDE;
    else colour = ramp[scale === 0 ? 128 : Math.max(0, Math.min(255, Math.round((number - low) * scale)))];
    const [red, green, blue] = colour ?? NAN;
    pixels[4 * i] = red;
    pixels[4 * i + 1] = green;
    pixels[4 * i + 2] = blue;
    pixels[4 * i + 3] = 255;
  }
  return pixels;
}

/** 256 colours, straight between the given ones. */
function shades(colours: readonly Colour[]): Colour[] {
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (colours.length - 1);
    const below = colours[Math.floor(at)] ?? NAN;
    const above = colours[Math.ceil(at)] ?? below;
    const share = at - Math.floor(at);
    return [0, 1, 2].map((c) => Math.round((below[c] ?? 0) + share * ((above[c] ?? 0) - (below[c] ?? 0)))) as unknown as Colour;
  });
}

/** A number in few characters. */
export function short(number: number | null | undefined): string {
  if (number === null || number === undefined) return "none";
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "Inf" : "-Inf";
  return Number.isInteger(number) && Math.abs(number) < 1e7 ? String(number) : String(Number(number.toPrecision(5)));
}
