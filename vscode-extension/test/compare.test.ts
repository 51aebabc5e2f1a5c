import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  curveOf,
  isForeign,
  metricOf,
  metricText,
  METRICS,
  shownRows,
  subjectOf,
  type ColumnName,
  type Metric,
} from "../pages/compare/model";
import * as fixtures from "./fixtures";

const at = (line: number, cosine: number | "NaN" | null, more = {}) =>
  fixtures.row(line, {
    name: `t${String(line)}`,
    numbers: cosine === null ? null : fixtures.numbers({ cosine, max_abs: line }),
    ...more,
  });
const results = {
  rows: [
    at(3, 0.9),
    at(1, 0.5, { verdict: "fail" }),
    at(4, null, { verdict: "unknown" }),
    at(2, 1, { role: "operand" }),
    at(5, "NaN", { verdict: "fail" }),
  ],
  first: null,
};
const ALL = { text: "", onlyFailed: false, onlyResults: false };
const lines = (rows: readonly { readonly line: number }[]) => rows.map(({ line }) => line);

describe("the table of compared tensors", () => {
  it("is sorted by any column, both ways, with what was not measured last", () => {
    assert.deepEqual(lines(shownRows(results, ALL, undefined)), [3, 1, 4, 2, 5]);
    assert.deepEqual(lines(shownRows(results, ALL, { column: "cosine", isDescending: false })), [1, 3, 2, 4, 5]);
    assert.deepEqual(lines(shownRows(results, ALL, { column: "cosine", isDescending: true })), [2, 3, 1, 4, 5]);
    assert.deepEqual(lines(shownRows(results, ALL, { column: "verdict", isDescending: false })).slice(0, 2), [1, 5]);
    const columns: ColumnName[] = ["verdict", "line", "opcode", "tensor", ...METRICS.map(({ name }) => name)];
    for (const column of columns)
      for (const isDescending of [false, true]) {
        const found = shownRows(results, ALL, { column, isDescending });
        assert.deepEqual(lines(found).sort(), [1, 2, 3, 4, 5], column);
        const values = found.map((row) =>
          column === "line" ? row.line : column === "max_abs" ? metricOf(row, column) : 0,
        );
        const measured = values.filter((value) => value !== undefined);
        const sorted = [...measured].sort((one, other) => (isDescending ? other - one : one - other));
        assert.deepEqual(measured, sorted, column);
      }
  });

  it("has its numbers as engineers read them", () => {
    const texts: [Metric, number | undefined, string][] = [
      ["cosine", 0.651618, "0.6516"],
      ["cosine", 1, "1.0000"],
      ["cosine", 0.99997, "0.999970"],
      ["cosine", 1 - 3e-8, "1 - 3.00e-8"],
      ["euclidean", -2985584966.87, "< -1"],
      ["euclidean", -0.5, "-0.5000"],
      ["sqnr", 31.26, "31.3"],
      ["sqnr", Infinity, "∞"],
      ["max_abs", 4.5439, "4.54"],
      ["max_abs", 0.00001234, "1.23e-5"],
      ["max_ulp", 24794611, "2.48e7"],
      ["max_ulp", 3, "3"],
      ["max_abs", 0, "0"],
      ["max_rel", NaN, "NaN"],
      ["bad_share", 0.33333, "33.3"],
      ["bad_share", 1e-6, "<0.01"],
      ["nan_count", 12345, "12,345"],
      ["max_ulp", undefined, ""],
    ];
    for (const [metric, value, text] of texts)
      assert.equal(metricText(value, metric), text, `${metric} ${String(value)}`);
  });

  it("shows what differs, or what has been computed as long as nothing does", () => {
    const weight = at(6, null, { verdict: "unknown", reason: "weight" });
    const load = at(7, null, { verdict: "unknown", reason: "load or store" });
    const right = [at(3, 1), at(4, null, { verdict: "unknown", reason: "no such name" })];
    const only = { ...ALL, onlyFailed: true };
    assert.deepEqual(lines(shownRows({ rows: [weight, ...right, load], first: null }, only, undefined)), [3, 4]);
    assert.deepEqual(
      lines(shownRows({ rows: [weight, ...right, at(5, 0, { verdict: "fail" })], first: null }, only, undefined)),
      [5],
    );
  });

  it("is filtered by text, verdict and role", () => {
    assert.deepEqual(lines(shownRows(results, { ...ALL, text: "t4" }, undefined)), [4]);
    assert.deepEqual(lines(shownRows(results, { ...ALL, onlyFailed: true }, undefined)), [1, 5]);
    assert.deepEqual(lines(shownRows(results, { ...ALL, onlyResults: true }, undefined)), [3, 1, 4, 5]);
  });

  it("has a curve of the results in the order of the ops; what is no number is all wrong", () => {
    const curve = curveOf(results.rows).map(({ row, error }) => [row.line, Number(error.toFixed(6))]);
    assert.deepEqual(curve, [
      [3, 0.1],
      [1, 0.5],
      [5, 1],
    ]);
  });

  it("names each tensor at the moment when it is there", () => {
    const row = fixtures.row(7, { first: 10, last: 14, index: 2, name: "y" });
    assert.deepEqual(subjectOf(row), { expression: "out[2]@op10", ordinal: 15 });
    assert.deepEqual(subjectOf({ ...row, role: "operand" }), { expression: "in[2]@op10", ordinal: 10 });
    assert.deepEqual(subjectOf({ ...row, role: "output" }), { expression: 'output("y")', ordinal: 15 });
  });

  it("knows a reference of another model", () => {
    assert.equal(isForeign(results), false);
    assert.equal(isForeign({ rows: [at(1, null, { verdict: "unknown" })], first: null }), true);
    assert.equal(isForeign({ rows: [], first: null }), false);
  });
});
