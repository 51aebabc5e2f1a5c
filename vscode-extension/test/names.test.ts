import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { elided, labelsOf } from "../pages/shared/text";

/** Names as ONNX's importer makes them of YOLO. */
const YOLO = [0, 1, 2, 3, 4, 6, 8, 9, 12, 15].flatMap((stage) =>
  [0, 1].flatMap((block) =>
    ["cv1", "cv2"].flatMap((part) => [
      `/model.${String(stage)}/m.${String(block)}/${part}/conv/Conv_output_0_Conv`,
      `/model.${String(stage)}/m.${String(block)}/${part}/act/Mul_output_0_Mul`,
      `load_/model.${String(stage)}/m.${String(block)}/${part}/conv/Conv_output_0_Conv_filter_reorderd`,
    ]),
  ),
);

describe("a long name", () => {
  it("keeps its ends", () => {
    assert.equal(elided("conv1", 8), "conv1");
    assert.equal(elided("/model.6/m.1/cv2/conv/Conv_output_0_Conv", 21), "/model.6/m…put_0_Conv");
    for (const length of [4, 5, 12, 23]) assert.equal(elided(YOLO[0] ?? "", length).length, length);
  });
});

describe("names that are listed together", () => {
  for (const length of [16, 24, 40])
    it(`are told apart in about ${String(length)} letters`, () => {
      const labels = labelsOf(YOLO, length);
      assert.equal(labels.size, YOLO.length);
      assert.equal(new Set(labels.values()).size, YOLO.length);
      const lengths = [...labels.values()].map((label) => label.length).sort((one, other) => one - other);
      assert.ok((lengths[60] ?? 0) <= length + 4, `${String(lengths[60])} letters are usual`);
      assert.ok((lengths.at(-1) ?? 0) <= length + 16, `${String(lengths.at(-1))} letters at most`);
      for (const [name, label] of labels) {
        // Nothing but letters of the name, in their order.
        let from = 0;
        for (const part of label.split("…")) {
          const at = name.indexOf(part, from);
          assert.ok(at >= 0, `${part} in ${name}`);
          from = at + part.length;
        }
      }
    });

  it("lose what all of them share", () => {
    const labels = labelsOf(["/backbone/layer1/conv1/Conv_output_0", "/backbone/layer2/bn/Mul_output_0"], 40);
    assert.deepEqual([...labels.values()], ["…layer1/conv1/Conv…", "…layer2/bn/Mul…"]);
    assert.deepEqual([...labelsOf(["conv1", "conv2"], 40).values()], ["conv1", "conv2"], "short ones do not");
    assert.deepEqual([...labelsOf(["/backbone/conv"], 40).values()], ["/backbone/conv"], "nor a single one");
  });

  it("may be the beginnings of others", () => {
    const names = ["/model.1/a_very_long_name_of_a_layer", "/model.1/a_very_long_name_of_a_layer/b", "/model.1/a"];
    assert.equal(new Set(labelsOf(names, 8).values()).size, 3);
  });
});

describe("names that differ in words that say nothing", () => {
  const names = [
    "softmax16_Softmax",
    "softmax16_Softmax_f32",
    "load_relu4_Relu_filter_reorderd",
    "load_conv8_Conv_filter",
  ];
  for (const length of [4, 8, 10, 16])
    it(`are told apart in about ${String(length)} letters`, () => {
      const all = [...names, ...names.map((name) => `${name}_f16_f32_f16`), "flatten12_Flattengemm15_Gemm_f16"];
      assert.equal(new Set(labelsOf(all, length).values()).size, all.length);
    });
});
