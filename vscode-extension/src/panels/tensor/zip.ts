/** Archives of stored files: what NumPy reads and writes as npz. */

/** The sizes and places in an archive of this kind have 32 bits. */
const MOST = 0xffff_ffff;

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
    const about = Buffer.alloc(26);
    about.writeUInt16LE(20, 0); // version needed
    about.writeUInt16LE(0x0800, 2); // names are UTF-8; method and time stay 0
    about.writeUInt16LE(0x21, 8); // the first day that the format knows
    about.writeUInt32LE(crc32(content), 10);
    about.writeUInt32LE(content.length, 14);
    about.writeUInt32LE(content.length, 18);
    about.writeUInt16LE(path.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\0", "latin1"), about, place, path);
    parts.push(Buffer.from("PK\x03\x04", "latin1"), about, path, content);
    at += 30 + path.length + content.length;
    if (at > MOST)
      throw new Error(
        "an npz cannot hold more than 4 GiB; save the actual, reference and error numbers as one npy each",
      );
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, listed, end]);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1;
  return value;
});

function crc32(content: Uint8Array): number {
  let sum = MOST;
  for (const byte of content) sum = (sum >>> 8) ^ (TABLE[(sum ^ byte) & 0xff] ?? 0);
  return ~sum >>> 0;
}
