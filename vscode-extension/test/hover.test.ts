import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asmExpressionAt, mlirExpressionAt } from "../src/hover/expressions";

describe("hovering in final.mlir over", () => {
  const line = '        %17 = "tpu.Pool2D"(%16, %arg0, %11#1) {pad = [0, 0]} : (none) -> none loc(#loc13)';
  const definitions: Record<string, string> = {
    "#loc13": 'loc("maxpool5_MaxPool")',
    "#loc14": "loc(fused[#loc13, #loc2])",
  };
  const at = (text: string, within = line): string | undefined =>
    mlirExpressionAt(within, within.indexOf(text) + 1, (alias) => definitions[alias])?.expression;

  it("a value gives the value", () => {
    assert.equal(at("%17"), "%17");
    assert.equal(at("%arg0"), "%arg0");
  });
  it("one of several results gives that one", () => {
    assert.equal(at("%11#1"), "%11#1");
    assert.equal(at("%11:2", '%11:2 = "tpu.Split"(%1)'), "%11");
  });
  it("a location alias gives the name it stands for", () => {
    assert.equal(at("#loc13"), '#loc("maxpool5_MaxPool")');
  });
  it("a location without a name of its own gives nothing", () => {
    assert.equal(at("#loc14", "loc(#loc14)"), undefined);
    assert.equal(at("#loc", "loc(#loc)"), undefined);
  });
  it("anything else gives nothing", () => {
    assert.equal(at("tpu.Pool2D"), undefined);
    assert.equal(at(" = "), undefined);
  });
});

describe("hovering in the disassembly over", () => {
  const line =
    "  B1: %R1.L6 f32[1,16,32,32] = conv.normal(input = %R0 f32[1,3,32,32], weight = %R3.64 f32[16,3,3,3], pad_value = 0.0 f32)  wait D3";
  const at = (text: string, within = line): string | undefined =>
    asmExpressionAt(within, within.indexOf(text) + 1)?.expression;

  it("an operand or a result gives its address", () => {
    assert.equal(at("%R0"), "%R0");
    assert.equal(at("%R3.64"), "%R3.64");
    assert.equal(at("%R1.L6"), "%R1.L6");
    assert.equal(at("%G1.4096", "D2: %R3 f16[1] = dma.tensor(source = %G1.4096 f16[1])"), "%G1.4096");
  });
  it("a constant, a command or a mnemonic gives nothing", () => {
    for (const text of ["B1:", "0.0", "D3", "conv.normal", "f32"]) assert.equal(at(text), undefined);
  });
});
