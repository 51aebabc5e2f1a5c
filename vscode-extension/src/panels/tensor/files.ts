/** Tensors as files, from their numbers in order. */
import { fromText } from "./bytes";

/** A NumPy file begins with this, the version of its format, and the length of the header as 16 bits. */
const MAGIC = [0x93, ...fromText("NUMPY")];
const VERSION = [1, 0];
const PREAMBLE_BYTES = MAGIC.length + VERSION.length + 2;
/** The numbers begin at a multiple of this many bytes. */
const ALIGNMENT = 64;

/** A NumPy file (format 1.0) of numbers in C order. */
export function npy(shape: readonly number[], format: "f32" | "f64", data: Uint8Array): Uint8Array {
  const axes = shape.length === 1 ? `${String(shape[0])},` : shape.join(", ");
  const text = `{'descr': '${format === "f32" ? "<f4" : "<f8"}', 'fortran_order': False, 'shape': (${axes}), }`;
  // The header is padded and ends with a line feed.
  const length = Math.ceil((PREAMBLE_BYTES + text.length + 1) / ALIGNMENT) * ALIGNMENT;
  const header = length - PREAMBLE_BYTES;
  const file = new Uint8Array(length + data.length);
  file.set([...MAGIC, ...VERSION, header & 0xff, header >> 8]);
  file.set(fromText(text.padEnd(header - 1) + "\n"), PREAMBLE_BYTES);
  file.set(data, length);
  return file;
}

/** One line for each row of the last axis, and an empty one where an outer axis steps. */
export function csv(shape: readonly number[], numbers: ArrayLike<number>): string {
  const columns = Math.max(1, shape.at(-1) ?? 1);
  const rows = shape.at(-2) ?? 1;
  const lines: string[] = [];
  for (let start = 0; start < numbers.length; start += columns) {
    const row = start / columns;
    if (row > 0 && row % rows === 0) lines.push("");
    const words: string[] = [];
    for (let i = start; i < start + columns; i++) words.push(word(numbers[i] ?? NaN));
    lines.push(words.join(","));
  }
  return lines.join("\n") + "\n";
}

/** As NumPy reads it. */
function word(number: number): string {
  if (Number.isNaN(number)) return "nan";
  return Number.isFinite(number) ? String(number) : number > 0 ? "inf" : "-inf";
}

/** The numbers in an answer of the adapter. */
export function decode(format: "f32" | "f64", data: Uint8Array): Float32Array | Float64Array {
  const bytes = Uint8Array.from(data).buffer; // a copy, so that it starts at a multiple of the item size
  return format === "f32" ? new Float32Array(bytes) : new Float64Array(bytes);
}
