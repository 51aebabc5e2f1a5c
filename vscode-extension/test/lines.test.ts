import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { labelsIn } from "../pages/graph/labels";
import { countThrough, lineText, numberOf } from "../pages/shared/lines";
import type { GraphNode } from "../src/protocol/generated";

describe("a line in words", () => {
  afterEach(() => {
    countThrough([]);
  });

  it("is that of the only file", () => {
    assert.deepEqual([lineText(12), numberOf(12)], ["line 12", 12]);
  });

  it("names the file where each net has one", () => {
    countThrough([
      { name: "block_0/final.mlir", before: 0 },
      { name: "block_1/final.mlir", before: 100 },
    ]);
    assert.deepEqual([lineText(100), lineText(101)], ["block_0/final.mlir:100", "block_1/final.mlir:1"]);
    assert.equal(numberOf(103), 3);
  });
});

describe("names in boxes", () => {
  const words = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "mlp.gate_proj", "mlp.down_proj"];
  const nodesOf = (block: number) =>
    [...words, "rotary_cos"].map((word) => {
      const isCommon = word !== "rotary_cos";
      const name = isCommon ? `model.layers.${String(block)}.${word}` : word;
      return { name, label: isCommon ? `…${word}` : word, subnet: `block_${String(block)}.subfunc_0` } as GraphNode;
    });

  it("are the labels of their subnet, and differ from each other", () => {
    const nodes = [...nodesOf(0), ...nodesOf(7)];
    const labels = labelsIn(nodes, 24);
    assert.equal(labels.get("model.layers.7.input_layernorm"), "…input_layernorm");
    assert.equal(labels.get("rotary_cos"), "rotary_cos");
    for (const block of [0, 7])
      assert.equal(new Set(nodesOf(block).map(({ name }) => labels.get(name))).size, words.length + 1);
  });
});
