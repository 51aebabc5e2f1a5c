// First, so that the texts find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Row, Verdict } from "../src/compare/results";
import { merged } from "../src/diagnostics/findings";
import { resultsIn, verdictsOf } from "../src/language/verdicts";
import * as fixtures from "./fixtures";

const row = (line: number, verdict: Verdict, more: Partial<Row> = {}) =>
  fixtures.row(line, { name: `t${String(line)}`, verdict, numbers: fixtures.numbers({ max_abs: 3 }), ...more });

describe("verdicts for the language server", () => {
  it("are one for each op, with what is wrong", () => {
    const wrong = row(5, "fail", {
      blame: { kind: "at fault", line: 5, through: [], suspects: [], text: "the op's own" },
    });
    const rows = [
      row(4, "pass"),
      row(5, "fail", { role: "operand", name: "of another op" }),
      row(6, "fail", { role: "operand" }),
      wrong,
      row(0, "fail", { role: "output" }),
    ];
    assert.deepEqual(verdictsOf({ rows, first: wrong }), [
      { line: 4, verdict: "pass", text: "" },
      { line: 5, verdict: "fail", text: "t5: cosine 0.5000, largest difference 3.00; the op's own" },
    ]);
  });
  it("come from whichever answer brings results", () => {
    const body = { rows: [], first: null, path: "/a/final.mlir" };
    assert.equal(resultsIn({ type: "response", command: "tdb/results", success: true, body }), body);
    assert.equal(resultsIn({ type: "response", command: "tdb/results", success: false }), undefined);
    assert.equal(resultsIn({ type: "event", event: "stopped" }), undefined);
  });
});

describe("problems of the server and of the session", () => {
  it("that are the same are shown once", () => {
    const problem = (line: number, message: string) => ({ message, range: { start: { line } } });
    const found = merged([problem(3, "race"), problem(4, "race")], [problem(3, "race"), problem(3, "NaN")]);
    assert.deepEqual(
      found.map(({ message, range }) => [range.start.line, message]),
      [
        [3, "race"],
        [4, "race"],
        [3, "NaN"],
      ],
    );
  });
});
