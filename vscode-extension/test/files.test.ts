import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { csv, decode, npy } from "../src/tensor/files";

describe("a tensor as a file", () => {
  const data = new Uint8Array(new Float32Array([1, -2.5, NaN, Infinity, 0, 6]).buffer);

  it("npy: a header that NumPy reads, of a multiple of 64 bytes, and the numbers", () => {
    const file = Buffer.from(npy([1, 2, 3], "f32", data));
    assert.equal(file.subarray(0, 8).toString("latin1"), "\x93NUMPY\x01\x00");
    const length = 10 + file.readUInt16LE(8);
    assert.equal(length % 64, 0);
    const header = file.subarray(10, length).toString();
    assert.match(header, /^\{'descr': '<f4', 'fortran_order': False, 'shape': \(1, 2, 3\), \} *\n$/);
    assert.deepEqual(file.subarray(length), Buffer.from(data));
    assert.match(Buffer.from(npy([6], "f64", data)).toString("latin1"), /'<f8'.*\(6,\)/);
    assert.match(Buffer.from(npy([], "f32", data.subarray(0, 4))).toString("latin1"), /'shape': \(\)/);
  });

  it("csv: a line for each row, an empty one between matrices", () => {
    assert.equal(csv([3, 2], decode("f32", data)), "1,-2.5\nnan,inf\n0,6\n");
    assert.equal(csv([3, 1, 2], decode("f32", data)), "1,-2.5\n\nnan,inf\n\n0,6\n");
    assert.equal(csv([], [7]), "7\n");
  });
});
