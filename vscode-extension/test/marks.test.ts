import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusters } from "../pages/time/clusters";
import type { Mark } from "../src/protocol/messages";

describe("marks of moments", () => {
  const mark = (ordinal: number, kind: Mark["kind"] = "failing"): Mark => ({ ordinal, kind, text: "" });
  const shown = (...marks: Mark[]) =>
    clusters(marks, ({ ordinal }) => ordinal, 8).map(({ x, marks: all }) => [x, all[0].kind, all.length]);

  it("are one where they would lie on each other", () => {
    assert.deepEqual(shown(mark(10), mark(13), mark(17), mark(18), mark(40)), [
      [10, "failing", 3],
      [18, "failing", 1],
      [40, "failing", 1],
    ]);
  });

  it("are each of its own kind", () => {
    assert.deepEqual(shown(mark(10), mark(11, "bookmark"), mark(12)), [
      [10, "failing", 2],
      [11, "bookmark", 1],
    ]);
    assert.deepEqual(shown(), []);
  });

  it("are few, however many there are", () => {
    const marks = Array.from({ length: 10_000 }, (_, index) => mark(index / 100));
    assert.equal(shown(...marks).length, 13);
  });
});
