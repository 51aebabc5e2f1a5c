/**
 * Archives of stored files: what NumPy reads and writes as npz.
 *
 * Each file is preceded by a local header; the central directory at the end repeats these with the files' offsets, and
 * an end record says where the directory is. Numbers below are offsets of fields in these.
 */
import * as vscode from "vscode";

const SIGNATURE = { local: "PK\x03\x04", central: "PK\x01\x02\x14\0", end: "PK\x05\x06" } as const;
/** The fields that a local header and an entry of the directory share, those that only the latter has, the end record. */
const BYTES = { shared: 26, central: 14, end: 22 } as const;
const LOCAL_HEADER_BYTES = SIGNATURE.local.length + BYTES.shared;
const VERSION_NEEDED = 20;
const UTF8_NAMES = 0x0800;
/** The first day that the format knows. */
const DATE = 0x21;
/** Sizes and offsets have 32 bits. */
const LARGEST = 0xffff_ffff;
/** Of the cyclic redundancy check, reversed. */
const POLYNOMIAL = 0xedb8_8320;

interface Entry {
  readonly name: string;
  readonly content: Uint8Array;
}

/** A zip file, nothing compressed. Throws if it would be larger than 4 GiB. */
export function zip(entries: readonly Entry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const { name, content } of entries) {
    const path = Buffer.from(name);
    const about = Buffer.alloc(BYTES.shared);
    about.writeUInt16LE(VERSION_NEEDED, 0);
    about.writeUInt16LE(UTF8_NAMES, 2); // method and time stay 0
    about.writeUInt16LE(DATE, 8);
    about.writeUInt32LE(crc32(content), 10);
    about.writeUInt32LE(content.length, 14);
    about.writeUInt32LE(content.length, 18);
    about.writeUInt16LE(path.length, 22);
    const place = Buffer.alloc(BYTES.central);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.from(SIGNATURE.central, "latin1"), about, place, path);
    parts.push(Buffer.from(SIGNATURE.local, "latin1"), about, path, content);
    at += LOCAL_HEADER_BYTES + path.length + content.length;
    if (at > LARGEST)
      throw new Error(
        vscode.l10n.t(
          "an npz cannot hold more than 4 GiB; save the actual, reference and error numbers as one npy each",
        ),
      );
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(BYTES.end);
  end.write(SIGNATURE.end, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, listed, end]);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

function crc32(content: Uint8Array): number {
  let sum = LARGEST;
  for (const byte of content) sum = (sum >>> 8) ^ (TABLE[(sum ^ byte) & 0xff] ?? 0);
  return ~sum >>> 0;
}
