import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rowsOf, sizeOf } from "../pages/memory/words";
import { ranges, timeText } from "../pages/shared/text";
import type { MemoryWindow } from "../src/protocol/generated";

const window = (bytes: number[], numbers: string[], rows: string[], reference = "0x3000000004000"): MemoryWindow => ({
  reference,
  space: "R",
  core: 0,
  start: 16384,
  region: { title: "local memory", start: 0, stop: 1 << 24 },
  data: Buffer.from(bytes).toString("base64"),
  numbers,
  rows,
});

describe("memory by address", () => {
  it("has words, highest digit first, beside their numbers", () => {
    const rows = rowsOf(window([0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc1], ["1.0", "-10.0"], ["R1", "R1.4"]), "f32", 4);
    assert.deepEqual(
      rows.map(({ address, words }) => [
        address,
        ...words.map(({ byte, hex, number }) => `${String(byte)} ${hex} ${number}`),
      ]),
      [
        ["R1", "0 3f800000 1.0"],
        ["R1.4", "4 c1200000 -10.0"],
      ],
    );
    assert.deepEqual(["ui8", "bf16", "f8e4m3", "si32"].map(sizeOf), [1, 2, 1, 4]);
  });

  it("ends with the region: what is left of a word is not shown", () => {
    const [first, last] = rowsOf(window([1, 2, 3, 4, 5, 6, 7], ["513", "1027", "1541"], ["R1", "R1.4"]), "ui16", 4);
    assert.deepEqual([first?.words.length, last?.words.length], [2, 1]);
  });

  it("marks what has changed, unless another place is looked at", () => {
    const before = window([1, 2, 3, 4], ["1", "2", "3", "4"], ["R1"]);
    const now = window([1, 9, 3, 4], ["1", "9", "3", "4"], ["R1"]);
    assert.deepEqual(
      rowsOf(now, "ui8", 4, before)[0]?.words.map(({ changed }) => changed),
      [false, true, false, false],
    );
    assert.equal(rowsOf(now, "ui16", 4, before)[0]?.words[0]?.changed, true);
    assert.equal(rowsOf({ ...now, reference: "0x0" }, "ui8", 4, before)[0]?.words[1]?.changed, false);
  });
});

describe("a time", () => {
  it("is in the unit that people would use", () => {
    assert.deepEqual([0.005008, 12.5, 1500, 0.0000004, 0].map(timeText), [
      "5.008 µs",
      "12.5 ms",
      "1.5 s",
      "0.4 ns",
      "0 ns",
    ]);
  });
});

describe("numbers of cores", () => {
  it("are shown as the ends of their runs", () => {
    assert.deepEqual([[], [3], [0, 1, 2, 3, 7], [0, 2]].map(ranges), ["", "3", "0-3,7", "0,2"]);
  });
});
