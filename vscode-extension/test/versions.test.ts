import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { latestAt, readersText, subtract, writerText } from "../pages/tensor/versionTexts";
import type { TensorVersion } from "../src/protocol/generated";

const version = (more: Partial<TensorVersion>): TensorVersion => ({
  moment: 5,
  first: 3,
  last: 4,
  line: 22,
  opcode: "tpu.Conv2D",
  tensor: "conv1",
  covers: true,
  edit: "",
  numbers: "min 0 max 1 mean 0.5",
  changed: 1,
  largest: 1,
  readers: 0,
  readBy: [],
  thumbnail: [[1]],
  ...more,
});

describe("versions of a tensor", () => {
  it("name who wrote them, an edit, or that nobody did", () => {
    assert.equal(writerText(version({})), "tpu.Conv2D · conv1 · commands 3 to 4");
    assert.equal(writerText(version({ first: 4, covers: false })), "tpu.Conv2D · conv1 · command 4 (a part of it)");
    assert.equal(writerText(version({ edit: "in[0] = 7" })), "edit at 5: in[0] = 7");
    assert.equal(writerText(version({ first: null, last: null, tensor: "" })), "at the start");
    assert.equal(writerText(version({ first: null, last: null, tensor: "x" })), "at the start: x");
  });

  it("name who read them, the first of many", () => {
    assert.equal(readersText(version({})), "never read");
    const readBy = [
      { ordinal: 5, opcode: "tpu.Pool2D", name: "pool" },
      { ordinal: 1007, opcode: "dma.general", name: "" },
    ];
    assert.equal(readersText(version({ readers: 2, readBy })), "read by 2: tpu.Pool2D pool (5), dma.general (1,007)");
    assert.match(readersText(version({ readers: 3, readBy })), /, \.\.\.$/);
  });

  it("differ element by element, where both are numbers", () => {
    assert.deepEqual(subtract([[3, null, 1]], [[1, 1, null]]), [[2, null, null]]);
    assert.deepEqual(subtract([[3], [4]], [[1]]), [[2], [null]]);
  });

  it("are there from their moment on", () => {
    const versions = [{ moment: 0 }, { moment: 5 }, { moment: 9 }];
    assert.deepEqual(
      [0, 4, 5, 100].map((ordinal) => latestAt(versions, ordinal)),
      [0, 0, 1, 2],
    );
  });
});
