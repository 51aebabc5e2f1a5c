import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byLine, placeOf } from "../src/inline/places";

describe("a value is written", () => {
  const line = '        %16 = "tpu.Conv2D"(%13, %1, %161) {out = "%16"}';

  it("behind the first word that is its name, and no longer word", () => {
    assert.equal(line.slice(0, placeOf("%16", line)), "        %16");
    assert.equal(line.slice(0, placeOf("%1", line)), '        %16 = "tpu.Conv2D"(%13, %1');
    assert.equal(line.slice(0, placeOf("%161", line)).slice(-5), " %161");
  });

  it("behind an address with a dot, but not behind a longer one", () => {
    const asm = "B3: %R0.4096 f32[1,16] = pord.maxpooling(input = %R0 f32[1,16])";
    assert.equal(asm.slice(0, placeOf("%R0", asm)).slice(-11), "input = %R0");
    assert.equal(asm.slice(0, placeOf("%R0.4096", asm)), "B3: %R0.4096");
  });

  it("nowhere if the line does not have the name, or the name of a part", () => {
    for (const name of ["%2", "%6", "16", "%16#1"]) assert.equal(placeOf(name, line), undefined, name);
    assert.equal(placeOf("%16", "(%16#0, %16#1)"), undefined);
  });

  it("with the others of its line", () => {
    const values = [3, 4, 3].map((line, i) => ({ line, name: `%${String(i)}`, text: "" }));
    assert.deepEqual(
      [...byLine(values)].map(([at, all]) => [at, all.map(({ name }) => name)]),
      [
        [3, ["%0", "%2"]],
        [4, ["%1"]],
      ],
    );
  });
});
