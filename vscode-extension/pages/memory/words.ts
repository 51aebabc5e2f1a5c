/** Contents of the cells of the memory by address. */
import type { MemoryWindow } from "../../src/protocol/generated";

/** Types of whole bytes, first the one that says least about what is there. */
export const TYPES: readonly string[] = [
  "ui8",
  "si8",
  "f32",
  "f16",
  "bf16",
  "f8e4m3",
  "f8e5m2",
  "si16",
  "ui16",
  "si32",
  "ui32",
];

const BYTE_BITS = 8;

/** A number in memory: from `byte` of the window on. */
export interface Word {
  readonly byte: number;
  readonly hex: string;
  readonly number: string;
  readonly changed: boolean;
}

export interface Row {
  readonly address: string;
  readonly words: readonly Word[];
}

/** Bytes of a number. */
export function sizeOf(type: string): number {
  return Math.max(1, Number(/\d+/.exec(type)?.[0] ?? BYTE_BITS) / BYTE_BITS);
}

/** Rows of words; `before`: what was there at the last look, if that was at the same place. */
export function rowsOf(now: MemoryWindow, type: string, rowBytes: number, before?: MemoryWindow): Row[] {
  const [data, old] = [bytesOf(now), before?.reference === now.reference ? bytesOf(before) : undefined];
  const size = sizeOf(type);
  return now.rows.map((address, row) => {
    const words: Word[] = [];
    for (let byte = row * rowBytes; byte + size <= Math.min((row + 1) * rowBytes, data.length); byte += size) {
      const taken = data.subarray(byte, byte + size);
      const hex = [...taken]
        .reverse()
        .map((one) => one.toString(16).padStart(2, "0"))
        .join(""); // little-endian
      const changed = old !== undefined && taken.some((one, i) => byte + i < old.length && one !== old[byte + i]);
      words.push({ byte, hex, number: now.numbers[byte / size] ?? "", changed });
    }
    return { address, words };
  });
}

function bytesOf({ data }: MemoryWindow): Uint8Array {
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}
