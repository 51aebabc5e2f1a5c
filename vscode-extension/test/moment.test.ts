import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withoutMoment } from "../pages/tensor/moment";

describe("an expression without its moment", () => {
  for (const [pinned, everywhere] of [
    ["in[0]@op5", "in[0]"],
    ["in[0]@5[3][0] - ref(in[0]@op5)", "in[0][3][0] - ref(in[0])"],
    ["%16@202:40", "%16"],
    ['#loc("a@5")@7', '#loc("a@5")'],
    ["R0@core1:f32[64]", "R0@core1:f32[64]"],
    ["input('x')", "input('x')"],
  ] as const) {
    it(`${pinned} is ${everywhere}`, () => {
      assert.equal(withoutMoment(pinned), everywhere);
    });
  }
});
