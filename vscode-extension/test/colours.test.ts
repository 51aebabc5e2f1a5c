import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { INFINITE, NAN, OUTSIDE, paint, paintColour, PALETTES, SIGNED } from "../pages/tensor/colours";

describe("the colours of a heat map", () => {
  const range = { low: 0, high: 10 };
  const colours = (numbers: number[], mark = false) => {
    const pixels = paint(numbers, range, PALETTES.viridis, mark);
    return numbers.map((_, i) => [...pixels.subarray(4 * i, 4 * i + 3)]);
  };

  it("go from the first to the last of the palette", () => {
    assert.deepEqual(colours([0, 10]), [
      [68, 1, 84],
      [253, 231, 37],
    ]);
    assert.deepEqual(colours([-5, 15]), colours([0, 10]));
  });

  it("tell what is no number, and what is out of the range that the user has chosen", () => {
    assert.deepEqual(colours([NaN, Infinity, -Infinity]), [[...NAN], [...INFINITE], [...INFINITE]]);
    assert.deepEqual(colours([-5, 15, 5], true).slice(0, 2), [[...OUTSIDE], [...OUTSIDE]]);
    assert.deepEqual(colours([5], true), colours([5]));
  });

  it("of three channels are red, green and blue", () => {
    const [red, green, blue] = [
      [10, 0, 5, NaN],
      [0, 10, 5, 1],
      [0, 0, 5, 2],
    ];
    const pixels = paintColour([red, green, blue], range, false);
    assert.deepEqual([...pixels], [255, 0, 0, 255, 0, 255, 0, 255, 128, 128, 128, 255, ...NAN, 255]);
    assert.deepEqual([...paintColour([[11], [0], [0]], range, true)], [...OUTSIDE, 255]);
  });

  it("are white where there is no error", () => {
    assert.deepEqual(
      [...paint([0], { low: -1, high: 1 }, SIGNED, false)].map((part) => part > 240),
      [true, true, true, true],
    );
  });
});
