/** Numbers as text. */
const KIBI = 1024;
const BINARY = ["B", "KiB", "MiB", "GiB"] as const;

/** Bytes in the largest unit that does not need more than two decimals. */
export function bytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= KIBI && unit < BINARY.length - 1) {
    value /= KIBI;
    unit++;
  }
  return `${Number(value.toFixed(value < 10 ? 2 : 1)).toLocaleString("en-US")} ${BINARY[unit] ?? ""}`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function hex(value: number): string {
  return `0x${value.toString(16).toUpperCase()}`;
}

/** `f32[1,16,32,32]` */
export function type(dtype: string, shape: readonly number[]): string {
  return `${dtype}[${shape.join(",")}]`;
}
