import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  brushed,
  cellText,
  columnsOf,
  csvOf,
  envelope,
  extentOf,
  firstBeyond,
  hitsOf,
  lettersOf,
  outline,
  passed,
  rowsInSight,
  shownHits,
  sideOf,
  stopBeyond,
  type ColumnName,
} from "../pages/trace/model";
import type { TraceRow } from "../src/protocol/generated";

const row = (moment: number, value: number | null, more: Partial<TraceRow> = {}): TraceRow => ({
  moment,
  command: `B${String(moment)}`,
  line: moment + 10,
  op: "tpu.Conv2D",
  name: `conv${String(moment)}`,
  core: 0,
  slice: "",
  launch: null,
  token: null,
  isAfter: true,
  values: [value],
  texts: [value === null ? "not computed" : String(value)],
  ...more,
});

const hits = hitsOf([row(1, 5), row(2, null), row(3, 40, { op: "tpu.Pool2D" }), row(10, -2)]);
const moments = (order?: ColumnName, isDescending = false, text = "", brush?: { first: number; last: number }) =>
  shownHits(hits, { text, brush }, order === undefined ? undefined : { column: order, isDescending }).map(
    (hit) => hit.row.moment,
  );

describe("rows of a trace", () => {
  it("are those with the text, in any of their columns", () => {
    assert.deepEqual(moments(undefined, false, "pool2d"), [3]);
    assert.deepEqual(moments(undefined, false, "not computed"), [2]);
    assert.deepEqual(moments(undefined, false, "b1"), [1, 10]);
    assert.deepEqual(moments(undefined, false, "nothing"), []);
  });

  it("are sorted as numbers, those without one last in both directions", () => {
    assert.deepEqual(moments(0), [10, 1, 3, 2]);
    assert.deepEqual(moments(0, true), [3, 1, 10, 2]);
    assert.deepEqual(moments("command", true), [10, 3, 2, 1]);
    assert.deepEqual(moments("op", true), [3, 1, 2, 10]);
  });

  it("stay in the order of the run until they are sorted", () => {
    moments(0);
    assert.deepEqual(moments(), [1, 2, 3, 10]);
  });

  it("are those that are brushed, the last one included", () => {
    assert.deepEqual(moments(undefined, false, "", { first: 1, last: 2 }), [2, 3]);
    assert.deepEqual(moments(undefined, false, "pool2d", { first: 0, last: 1 }), []);
  });

  it("have columns only for what there is", () => {
    const rows = [row(1, 5), row(2, 6)];
    const expressions = ["max(out[0])"];
    assert.deepEqual(columnsOf({ rows, expressions }), ["moment", "command", "line", "op", "name", 0]);
    assert.deepEqual(columnsOf({ rows, expressions }, true), ["moment", 0, "command", "line", "op", "name"]);
    const more = [...rows, row(3, 7, { core: 1, slice: "n 0", launch: 2, token: 0 })];
    assert.deepEqual(columnsOf({ rows: more, expressions }).slice(5), ["core", "slice", "launch", "token", 0]);
  });

  it("say why there is no value, and have no line where there is no op", () => {
    assert.equal(cellText(row(1, null), 0), "not computed");
    assert.equal(cellText(row(1, 1, { line: 0 }), "line"), "");
    assert.equal(cellText(row(0, 1), "moment"), "0");
    assert.equal(cellText(row(1, 1), "launch"), "");
  });

  it("are behind, at or ahead of the present moment", () => {
    assert.deepEqual(
      [1, 2, 3].map((moment) => sideOf(moment, 2)),
      ["behind", "here", "ahead"],
    );
    const rows = hits.map((hit) => hit.row);
    assert.equal(passed(rows, 2), 2);
    assert.equal(passed(rows, 0), 0);
    assert.equal(passed(rows, 99), 4);
  });
});

describe("the rows that are made", () => {
  it("are those in the window and a few more", () => {
    assert.deepEqual(rowsInSight(0, 400, 20, 100_000), { from: 0, to: 31 });
    const { from, to } = rowsInSight(1_000_000, 400, 20, 100_000);
    assert.ok(from <= 50_000 && to >= 50_021);
    assert.ok(to - from < 50);
  });

  it("end with the list, also where it has become shorter than the window stands", () => {
    assert.deepEqual(rowsInSight(1_000_000, 400, 20, 30), { from: 20, to: 30 });
    assert.deepEqual(rowsInSight(0, 400, 20, 3), { from: 0, to: 3 });
    assert.deepEqual(rowsInSight(0, 400, 20, 0), { from: 0, to: 0 });
    assert.equal(rowsInSight(99_980 * 20, 400, 20, 100_000).to, 100_000);
  });

  it("have columns as wide as their longest text, up to a limit", () => {
    assert.equal(lettersOf("op", ["tpu.Conv2D", "x"], 28), 10);
    assert.equal(lettersOf("moment", ["1"], 28), 8);
    assert.equal(lettersOf("name", ["x".repeat(90)], 28), 28);
  });
});

describe("a sparkline", () => {
  it("keeps the least and the greatest of the values that share a pixel", () => {
    const values = Array.from({ length: 100_000 }, (_, i) => (i === 54_321 ? 1000 : i % 10));
    const extents = envelope(values, 300);
    assert.equal(extents.length, 300);
    assert.deepEqual(extentOf(extents.map((one) => one?.high ?? null)), { low: 9, high: 1000 });
    assert.deepEqual(extents[162], { low: 0, high: 1000 });
  });

  it("has a point for each of a few values, and gaps where there are none", () => {
    assert.deepEqual(envelope([1, null, 3], 300), [{ low: 1, high: 1 }, undefined, { low: 3, high: 3 }]);
    assert.equal(outline(envelope([1, null, 3], 300), 300, 30), "M50.0 30.0L50.0 30.0M250.0 0.0L250.0 0.0");
    assert.equal(outline(envelope([1, 3], 300), 300, 30), "M75.0 30.0L75.0 30.0L225.0 0.0L225.0 0.0");
    assert.equal(outline(envelope([2, 2], 2), 2, 30), "M0.5 15.0L0.5 15.0L1.5 15.0L1.5 15.0");
    assert.equal(outline(envelope([null], 300), 300, 30), "");
    assert.deepEqual(envelope([], 300), []);
  });

  it("selects the rows between two points, in either direction, inside the list", () => {
    assert.deepEqual(brushed(30, 60, 300, 100), { first: 10, last: 20 });
    assert.deepEqual(brushed(60, 30, 300, 100), { first: 10, last: 20 });
    assert.deepEqual(brushed(-20, 900, 300, 100), { first: 0, last: 99 });
    assert.equal(brushed(30, 32, 300, 100), undefined);
    assert.equal(brushed(0, 300, 300, 0), undefined);
  });
});

describe("a breakpoint where an expression first exceeds a limit", () => {
  const body = { place: "tpu.*", condition: "", expressions: ["max(out[0])", "min(in[0])"] };

  it("is set where one does", () => {
    const rows = hits.map((hit) => hit.row);
    assert.equal(firstBeyond(rows, 0, 5)?.moment, 3);
    assert.equal(firstBeyond(rows, 0, -100)?.moment, 1);
    assert.equal(firstBeyond(rows, 0, 40), undefined);
  });

  it("stops on the side of the place where the row was read", () => {
    assert.deepEqual(stopBeyond(body, row(1, 5), 0, 3), { name: "after tpu.*", condition: "(max(out[0])) > 3" });
    assert.equal(stopBeyond(body, row(1, 5, { isAfter: false }), 1, 3).name, "tpu.*");
  });

  it("has the condition of the trace, and the place of every op where the trace has none", () => {
    const { condition } = stopBeyond({ ...body, condition: "a or b" }, row(1, 5), 1, -0.5);
    assert.equal(condition, "(a or b) and (min(in[0])) > -0.5");
    const everywhere = { ...body, place: "" };
    assert.equal(stopBeyond(everywhere, row(1, 5), 0, 3).name, "after tpu.*");
    assert.equal(stopBeyond(everywhere, row(1, 5, { line: 0, op: "conv.normal" }), 0, 3).name, "after *");
  });
});

describe("rows as CSV", () => {
  it("have a head, numbers in full, and texts that no program takes for something else", () => {
    const some = hitsOf([
      row(1, 0.1 + 0.2, { name: 'a,"b"', launch: 7 }),
      row(2, null, { name: "=SUM(A1)", texts: ["-inf"], slice: "-1" }),
    ]);
    assert.equal(
      csvOf(["max(out[0], axis=1)"], some),
      [
        'moment,command,line,op,name,core,slice,launch,token,"max(out[0], axis=1)"',
        '1,B1,11,tpu.Conv2D,"a,""b""",0,,7,,0.30000000000000004',
        "2,B2,12,tpu.Conv2D,'=SUM(A1),0,-1,,,'-inf",
        "",
      ].join("\n"),
    );
  });
});
