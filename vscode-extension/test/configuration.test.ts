import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withAbsolutePaths } from "../src/configuration/paths";
import { programOf, titleOf } from "../src/configuration/program";

const disk: Record<string, string[]> = {
  "/models/yolo": ["compilation.bmodel", "final.mlir", "tensor_location.json"],
  "/models/packed": ["compilation.bmodel.xz", "final.mlir"],
  "/models/loose": ["yolo.bmodel", "final.mlir"],
  "/models/two": ["a.bmodel", "b.bmodel", "final.mlir"],
  "/models/noted": ["final.mlir", "ref_files.json", "tensor_location.json", "other.mlir"],
  "/models/duo": ["yolo.cvimodel", "yolo_cv181x_int8_final.mlir"],
  "/models": ["yolo_tpu.mlir"],
};
const list = (directory: string): string[] => disk[directory] ?? [];

describe("the program of", () => {
  const cases: [string, string | undefined][] = [
    ["/models/yolo/final.mlir", "/models/yolo"],
    ["/models/yolo/compilation.bmodel", "/models/yolo"],
    ["/models/yolo/yolo.tdbasm", "/models/yolo"],
    ["/models/packed/final.mlir", "/models/packed"],
    ["/models/loose/final.mlir", "/models/loose/yolo.bmodel"],
    ["/models/two/a.bmodel", "/models/two/a.bmodel"],
    ["/models/two/final.mlir", undefined],
    ["/models/noted/final.mlir", "/models/noted"],
    ["/models/noted/other.mlir", undefined],
    ["/models/duo/yolo.cvimodel", "/models/duo/yolo.cvimodel"],
    ["/models/duo/yolo_cv181x_int8_final.mlir", "/models/duo/yolo.cvimodel"],
    ["/models/yolo_tpu.mlir", undefined],
    ["/runs/app.tdbrec", "/runs/app.tdbrec"],
    ["/models/yolo/tensor_location.json", undefined],
  ];
  for (const [path, program] of cases) {
    it(`${path} is ${program ?? "none"}`, () => {
      assert.equal(programOf(path, list), program);
    });
  }

  it("is called after its directory or file", () => {
    assert.equal(titleOf("/models/yolo"), "yolo");
    assert.equal(titleOf("/models/two/a.bmodel.xz"), "a");
    assert.equal(titleOf("/runs/app.tdbrec"), "app");
  });
});

describe("relative paths of a launch configuration", () => {
  it("start at the workspace folder", () => {
    const resolved = withAbsolutePaths(
      { program: "build/yolo", inputs: "/data/in.npz", reference: ["a.npz", "/b.npz"], backend: "numpy" },
      "/models",
    );
    assert.deepEqual(resolved, {
      program: "/models/build/yolo",
      inputs: "/data/in.npz",
      reference: ["/models/a.npz", "/b.npz"],
      backend: "numpy",
    });
  });

  it("stay as they are without a folder, and none are added", () => {
    assert.deepEqual(withAbsolutePaths({ program: "yolo" }, undefined), { program: "yolo" });
    assert.deepEqual(withAbsolutePaths({ program: "/yolo" }, "/models"), { program: "/yolo" });
  });
});
