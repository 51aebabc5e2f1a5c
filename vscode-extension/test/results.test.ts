// First, so that the texts find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { leading, opsOf, type ComparedRows, type Row, type Verdict } from "../src/compare/results";
import { numbersOf, opName, rowName, summary } from "../src/compare/words";
import type { Numbers } from "../src/protocol/generated";
import * as fixtures from "./fixtures";

const row = (line: number, role: Row["role"], name: string, verdict: Verdict, cosine: Numbers["cosine"] = 1) =>
  fixtures.row(line, { name, role, verdict, numbers: fixtures.numbers({ cosine }) });

describe("results of comparing", () => {
  const bad = row(23, "result", "y", "fail", 0.5);
  const results: ComparedRows = {
    rows: [
      row(22, "operand", "a", "unknown"),
      row(22, "result", "x", "pass"),
      row(23, "operand", "x", "pass"),
      bad,
      row(0, "output", "y", "fail"),
    ],
    first: { ...bad },
  };
  const ops = opsOf(results);

  it("are put together by op, in the order of execution", () => {
    assert.deepEqual(
      ops.map(({ line, name, verdict }) => [line, name, verdict]),
      [
        [22, "x", "pass"],
        [23, "y", "fail"],
        [0, "y", "fail"],
      ],
    );
  });

  it("have names, also the outputs of the net, which belong to no op", () => {
    assert.deepEqual(ops.map(opName), ["tpu.Conv2D x", "tpu.Conv2D y", "outputs y"]);
    assert.deepEqual(results.rows.map(rowName), [
      "operand 0: a",
      "result 0: x",
      "operand 0: x",
      "result 0: y",
      "output 0: y",
    ]);
  });

  it("name the first that differs, and what is wrong with it", () => {
    assert.deepEqual(
      ops.filter(({ isCulprit }) => isCulprit).map(({ line }) => line),
      [23],
    );
    assert.equal(ops[1] && leading(ops[1]), bad);
    assert.equal(numbersOf(bad), "cosine 0.5000, largest difference 0.250");
  });

  it("are summed up", () => {
    assert.equal(summary(results), "2 of 4 tensors differ; 1 not compared");
    assert.equal(summary({ rows: [], first: null }), "No op has been executed yet.");
    assert.equal(summary({ rows: [row(22, "result", "x", "pass")], first: null }), "1 tensor as expected");
    const rows = [1, 2].map((line) => row(line, "result", "x", "pass"));
    assert.equal(summary({ rows, first: null }), "2 tensors as expected");
  });

  it("leave out numbers that are not finite", () => {
    assert.equal(numbersOf(row(1, "result", "z", "fail", "NaN")), "largest difference 0.250");
    assert.equal(numbersOf(fixtures.row(1, { numbers: fixtures.numbers({ max_abs: "Infinity" }) })), "cosine 0.5000");
    assert.equal(numbersOf(fixtures.row(1, { numbers: null })), "");
  });
});
