/**
 * Archives of stored files: what NumPy reads and writes as npz.
 *
 * Each file is preceded by a local header; the central directory at the end repeats these with the files' offsets, and
 * an end record says where the directory is. Numbers below are offsets of fields in these.
 */
import * as vscode from "vscode";
import { fromText, joined } from "./bytes";

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
    const path = fromText(name);
    const about = fields(BYTES.shared);
    about.view.setUint16(0, VERSION_NEEDED, true);
    about.view.setUint16(2, UTF8_NAMES, true); // method and time stay 0
    about.view.setUint16(8, DATE, true);
    about.view.setUint32(10, crc32(content), true);
    about.view.setUint32(14, content.length, true);
    about.view.setUint32(18, content.length, true);
    about.view.setUint16(22, path.length, true);
    const place = fields(BYTES.central);
    place.view.setUint32(10, at, true);
    directory.push(fromText(SIGNATURE.central), about.bytes, place.bytes, path);
    parts.push(fromText(SIGNATURE.local), about.bytes, path, content);
    at += LOCAL_HEADER_BYTES + path.length + content.length;
    if (at > LARGEST)
      throw new Error(
        vscode.l10n.t(
          "an npz cannot hold more than 4 GiB; save the actual, reference and error numbers as one npy each",
        ),
      );
  }
  const listed = joined(directory);
  const end = fields(BYTES.end);
  end.bytes.set(fromText(SIGNATURE.end));
  end.view.setUint16(8, entries.length, true);
  end.view.setUint16(10, entries.length, true);
  end.view.setUint32(12, listed.length, true);
  end.view.setUint32(16, at, true);
  return joined([...parts, listed, end.bytes]);
}

/** Bytes, 0 at first, and a view to write numbers into them. */
function fields(length: number): { readonly bytes: Uint8Array; readonly view: DataView } {
  const bytes = new Uint8Array(length);
  return { bytes, view: new DataView(bytes.buffer) };
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
