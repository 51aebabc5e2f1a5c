import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { extent, liesAt, placeOf, stretches, use } from "../pages/memory/model";
import { Fold } from "../pages/memory/fold";
import { peakOf, usageOf } from "../pages/memory/usage";
import { memory, resident } from "./fixtures";

describe("a memory at one moment", () => {
  const local = memory(100, resident("a", 10, 20, 0, 5), resident("b", 40, 60, 3, 9), resident("c", 50, 70, 3, 4));
  const told = (ordinal: number) =>
    stretches(local, ordinal).map(({ start, stop, residents }) => [
      start,
      stop,
      residents.map(({ name }) => name).join("+"),
    ]);

  it("is tensors and free space from its first byte to its last", () => {
    assert.deepEqual(told(0), [
      [0, 10, ""],
      [10, 20, "a"],
      [20, 100, ""],
    ]);
    assert.deepEqual(told(9), [
      [0, 40, ""],
      [40, 60, "b"],
      [60, 100, ""],
    ]);
    assert.deepEqual(told(10), [[0, 100, ""]]);
  });

  it("counts what overlaps once", () => {
    assert.deepEqual(told(4), [
      [0, 10, ""],
      [10, 20, "a"],
      [20, 40, ""],
      [40, 70, "b+c"],
      [70, 100, ""],
    ]);
    assert.deepEqual(use(stretches(local, 4)), { used: 40, largestGap: 30 });
  });

  it("without a limit reaches as far as the program uses it", () => {
    assert.deepEqual(
      extent(memory(0, resident("a", 4096, 8192, 0, 1), resident("b", 16384, 20480, 0, 1))),
      [4096, 20480],
    );
  });

  it("knows where a tensor begins, and what lies at a byte of any lane", () => {
    const tensor = resident("a", 10, 20, 0, 5);
    const region = {
      title: "local memory of core 1",
      space: "R",
      core: 1,
      start: 0,
      stop: 6400,
      reference: "0x3100000000000",
    };
    const memories = [{ ...memory(100, tensor), core: 1 }];
    assert.deepEqual(placeOf({ ...memory(100), core: 1 }, tensor, [{ ...region, core: 0 }, region]), {
      address: region.reference,
      offset: 10,
    });
    assert.equal(placeOf(memory(100), tensor, [region]), undefined);
    const map = { ordinal: 0, commands: 9, lanes: 64, laneBytes: 100, bankBytes: 50, memories, regions: [region] };
    const names = (ordinal: number, core: number, byte: number) =>
      liesAt(map, ordinal, "R", core, byte).map(({ name }) => name);
    assert.deepEqual([names(2, 1, 319), names(2, 1, 320), names(6, 1, 319), names(2, 0, 319)], [["a"], [], [], []]);
  });
});

describe("the axis of bytes", () => {
  const used = memory(
    1000,
    resident("a", 100, 150, 0, 5),
    resident("b", 140, 200, 3, 9),
    resident("c", 700, 710, 3, 4),
  );
  const fold = Fold.of(used, 0, 1000);

  it("folds what is never used, and nothing else", () => {
    assert.deepEqual(fold.gaps, [
      { start: 0, stop: 100 },
      { start: 200, stop: 700 },
      { start: 710, stop: 1000 },
    ]);
    assert.ok(fold.length < 150, String(fold.length));
    assert.equal(fold.place(200) - fold.place(100), 100, "what is used keeps its size");
    assert.ok(fold.hides(300) && !fold.hides(100) && !fold.hides(150));
  });

  it("goes up, and back again to the same byte", () => {
    for (const axis of [fold, new Fold(0, 1000), Fold.of(memory(1000), 0, 1000), Fold.of(used, 0, 710)]) {
      let last = -1;
      for (let byte = 0; byte <= axis.to; byte += 5) {
        const place = axis.place(byte);
        assert.ok(place > last, String(byte));
        assert.ok(Math.abs(axis.byteAt(place) - byte) < 1e-6, String(byte));
        last = place;
      }
      assert.ok(Math.abs(axis.place(axis.to) - axis.length) < 1e-9);
    }
  });
});

describe("the use of a memory over time", () => {
  it("has its peak, and how scattered the free bytes are", () => {
    const points = usageOf(memory(100, resident("a", 0, 10, 0, 5), resident("b", 50, 60, 3, 9)));
    assert.deepEqual(
      points.map(({ at, used, fragmentation }) => [at, used, Number(fragmentation.toFixed(3))]),
      [
        [0, 10, 0],
        [3, 20, 0.5],
        [6, 10, 0.444],
        [10, 0, 0],
      ],
    );
    assert.equal(peakOf(points)?.at, 3);
  });
});

describe("the use of a memory with many tensors", () => {
  it("is at each moment what lies there then", () => {
    let seed = 3;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    const all = Array.from({ length: 200 }, (_, i) => {
      const [start, born] = [random(900), random(500)];
      return resident(String(i), start, start + 1 + random(99), born, born + random(40));
    });
    for (const size of [1000, 0]) {
      const many = memory(size, ...all);
      for (const { at, used } of usageOf(many)) assert.equal(used, use(stretches(many, at)).used, String(at));
    }
  });
});
