// First, so that the texts find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { csv, decode, npy } from "../src/panels/tensor/files";
import { zip } from "../src/panels/tensor/zip";

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

  it("npz: an archive whose files have their checksums", () => {
    const archive = zip([
      { name: "actual.npy", content: npy([6], "f32", data) },
      { name: "error.npy", content: npy([6], "f32", data) },
    ]);
    const read =
      "import sys, io, json, zipfile; z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())); print(json.dumps([z.testzip(), [[i.filename, i.file_size] for i in z.infolist()]]))";
    const [broken, files] = JSON.parse(execFileSync("python3", ["-c", read], { input: archive }).toString()) as [
      string | null,
      [string, number][],
    ];
    assert.equal(broken, null);
    assert.deepEqual(files, [
      ["actual.npy", 152],
      ["error.npy", 152],
    ]);
  });

  it("csv: a line for each row, an empty one between matrices", () => {
    assert.equal(csv([3, 2], decode("f32", data)), "1,-2.5\nnan,inf\n0,6\n");
    assert.equal(csv([3, 1, 2], decode("f32", data)), "1,-2.5\n\nnan,inf\n\n0,6\n");
    assert.equal(csv([], [7]), "7\n");
  });
});
