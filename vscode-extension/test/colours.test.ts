import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { INFINITE, NAN, OUTSIDE, paint, palette } from "../webview/tensor/colours";

describe("the colours of a heat map", () => {
  const range = { low: 0, high: 10 };
  const colours = (numbers: number[], mark = false) => {
    const pixels = paint(numbers, range, palette(false), mark);
    return numbers.map((_, i) => [...pixels.subarray(4 * i, 4 * i + 3)]);
  };

  it("go from the first to the last of the palette", () => {
    assert.deepEqual(colours([0, 10]), [[68, 1, 84], [253, 231, 37]]);
    assert.deepEqual(colours([-5, 15]), colours([0, 10]));
  });

  it("tell what is no number, and what is out of the range that the user has chosen", () => {
    assert.deepEqual(colours([NaN, Infinity, -Infinity]), [[...NAN], [...INFINITE], [...INFINITE]]);
    assert.deepEqual(colours([-5, 15, 5], true).slice(0, 2), [[...OUTSIDE], [...OUTSIDE]]);
    assert.deepEqual(colours([5], true), colours([5]));
  });

  it("are white where there is no error", () => {
    assert.deepEqual([...paint([0], { low: -1, high: 1 }, palette(true), false)].map((part) => part > 240), [true, true, true, true]);
  });
});
