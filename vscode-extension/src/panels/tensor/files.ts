/** Tensors as files, from their numbers in order. */

/** A NumPy file (format 1.0) of numbers in C order. */
export function npy(shape: readonly number[], format: "f32" | "f64", data: Uint8Array): Uint8Array {
  const axes = shape.length === 1 ? `${String(shape[0])},` : shape.join(", ");
  const text = `{'descr': '${format === "f32" ? "<f4" : "<f8"}', 'fortran_order': False, 'shape': (${axes}), }`;
  // Magic, version, length of the header, and the header, padded to a multiple of 64 with a line feed at its end.
  const length = Math.ceil((10 + text.length + 1) / 64) * 64;
  const file = new Uint8Array(length + data.length);
  file.set([0x93, ...Buffer.from("NUMPY"), 1, 0, (length - 10) & 0xff, (length - 10) >> 8]);
  file.set(Buffer.from(text.padEnd(length - 11) + "\n"), 10);
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
