import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attributesOf } from "../src/reading/attributes";

/** What is left of a line. */
function shown(line: string): string {
  const spans = attributesOf(line);
  return spans.reduceRight((text, [start, end]) => `${text.slice(0, start)}…${text.slice(end)}`, line);
}

describe("attributes that nobody reads while stepping", () => {
  it("are the compiler's own, defaults, addresses and the location", () => {
    const line =
      '  %16 = "tpu.Conv2D"(%13, %12, %11) {coeff_merged = false, dilations = [1, 1], do_relu = true, ginfo = #tpu.lg<out_addr = 16384, n_idx = [0], id = 5>, group = 1 : i64, relu_limit = -1.000000e+00 : f64, round_mode = #tpu<round_mode HalfUp>, support_compress = true, with_bias = true} : (tensor<1x3x32x32xf32, 4295000064 : i64>, none) -> tensor<1x16x32x32xf32, 4295004160 : i64> loc(#loc12)';
    assert.equal(
      shown(line),
      '  %16 = "tpu.Conv2D"(%13, %12, %11) {…dilations = [1, 1], do_relu = true, …group = 1 : i64, …round_mode = #tpu<round_mode HalfUp>, …with_bias = true} : (tensor<1x3x32x32xf32…>, none) -> tensor<1x16x32x32xf32…>…',
    );
  });

  it("do not include what is last in its list, nor a value that is not the default", () => {
    assert.equal(
      shown('"tpu.A"() {keepdims = true, other = []} : () -> tensor<1xf32>'),
      '"tpu.A"() {keepdims = true, …} : () -> tensor<1xf32>',
    );
    assert.equal(
      shown('"tpu.A"() {relu_limit = 6.000000e+00 : f64} : ()'),
      '"tpu.A"() {relu_limit = 6.000000e+00 : f64} : ()',
    );
    assert.equal(shown('"tpu.A"() {names = [false, true]} : ()'), '"tpu.A"() {names = [false, true]} : ()');
  });

  it("are left alone in lines of no op", () => {
    for (const line of ['#loc12 = loc("a")', "module @m attributes {a = false} {", ""])
      assert.deepEqual(attributesOf(line), []);
  });
});
