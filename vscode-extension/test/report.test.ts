import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { legend, paintedByVerdict } from "../pages/graph/model";
import { comparedTensors, comparedTexts, isShown, powerOf, tensorsOf } from "../pages/report/model";
import {
  changesOf,
  isModelShown,
  modelsOf,
  secondsText,
  totals,
  worstOf,
  zooOf,
  type ZooCase,
} from "../pages/report/zooModel";
import type { ComparedTensors, GraphNode } from "../src/protocol/generated";

const data: ComparedTensors = {
  texts: ["tpu.Conv2D", "x", "result", "fail", "</script>", "operand", "unknown", "weight", "pass", ""],
  line: [22, 22, 30],
  opcode: [0, 0, 0],
  name: [1, 4, 1],
  role: [2, 5, 2],
  index: [0, 1, 0],
  verdict: [3, 6, 8],
  blame: [4, 7, 9],
  metrics: {
    cosine: ["NaN", null, 0.5],
    euclidean: [0.25, null, 0.5],
    sqnr: ["-Infinity", null, 0],
    max_abs: ["Infinity", null, 0.125],
    max_rel: [1, null, 0],
    max_ulp: [null, null, 3],
    bad_share: [1, null, 0],
    nan_count: [2, null, 0],
  },
  faults: [0],
  culprit: 0,
};
const tensors = tensorsOf(data);

describe("the compared tensors of a report", () => {
  it("are rows with the texts and numbers of the lists", () => {
    const [first, weight, last] = tensors;
    assert.deepEqual(
      [first?.name, first?.verdict, first?.blame, first?.isFault, first?.isCulprit],
      ["x", "fail", "</script>", true, true],
    );
    assert.deepEqual(first?.numbers, {
      cosine: "NaN",
      euclidean: 0.25,
      sqnr: "-Infinity",
      max_abs: "Infinity",
      max_rel: 1,
      max_ulp: null,
      bad_share: 1,
      nan_count: 2,
    });
    assert.deepEqual([weight?.role, weight?.index, weight?.numbers, weight?.isFault], ["operand", 1, null, false]);
    assert.deepEqual([last?.line, last?.verdict, last?.isCulprit], [30, "pass", false]);
  });

  it("are sorted like those of the editor, and by blame", () => {
    const lines = (column: "max_abs" | "blame", isDescending: boolean) =>
      [...tensors]
        .sort((one, other) => comparedTensors(one, other, { column, isDescending }))
        .map(({ verdict }) => verdict);
    assert.deepEqual(lines("max_abs", true), ["fail", "pass", "unknown"]);
    assert.deepEqual(lines("max_abs", false), ["pass", "fail", "unknown"]);
    assert.deepEqual(lines("blame", false), ["fail", "unknown", "pass"]);
  });
});

describe("a table of texts", () => {
  it("is sorted by numbers, then by words; what is empty comes last", () => {
    const texts = ["10", "9", "1,200", "50.0%", "", "b", "a"];
    const sorted = (isDescending: boolean) =>
      [...texts].sort((one, other) => comparedTexts(one, other, isDescending)).join(" ");
    assert.equal(sorted(false), "9 10 50.0% 1,200 a b ");
    assert.equal(sorted(true), "1,200 50.0% 10 9 b a ");
  });

  it("is filtered by any cell, and by kind", () => {
    assert.equal(isShown(["Conv", "relu4"], "fail", { text: "relu", kind: undefined }), true);
    assert.equal(isShown(["Conv", "relu4"], "fail", { text: "pool", kind: undefined }), false);
    assert.equal(isShown(["Conv", "relu4"], "fail", { text: "", kind: "pass" }), false);
  });
});

describe("a picture of errors", () => {
  it("has a letter for each quarter of a power of ten", () => {
    assert.deepEqual(Array.from(".!04w", powerOf), [-Infinity, NaN, -8, -7, 0]);
  });
});

describe("a graph coloured by a report", () => {
  it("says what its colours mean, whatever the notes of its nodes", () => {
    const nodes = ["#f28b82", "#c9ecc3", "#eeeeee"].map(
      (color) => ({ color, note: "tpu.Pool2D at line 23 is at fault" }) as GraphNode,
    );
    assert.deepEqual(
      legend("verdict", nodes, paintedByVerdict).map(({ note }) => note),
      ["differs", "as expected", "not compared"],
    );
  });
});

describe("the models of a zoo", () => {
  const at = (model: string, column: string, status: string, more: Partial<ZooCase> = {}): ZooCase => ({
    key: `${model} ${column}`,
    model,
    column,
    status,
    change: "",
    seconds: 1,
    was: null,
    counts: false,
    detail: undefined,
    ...more,
  });
  const page = {
    statuses: ["pass", "fail", "error"],
    cases: [
      at("a", "f32", "pass", { change: "mended" }),
      at("b", "f32", "error"),
      at("c", "f32", "fail", { counts: true, change: "broken" }),
      at("c", "f16", "pass"),
      at("a", "f16", "pass", { key: "a again" }),
    ],
  };

  it("have what is new and wrong first, then the worst, then their names", () => {
    const models = modelsOf(page);
    assert.deepEqual(
      models.map(({ name, cases }) => [name, cases.length, worstOf(page, cases)?.status]),
      [
        ["c", 2, "fail"],
        ["b", 1, "error"],
        ["a", 2, "pass"],
      ],
    );
    const shown = (kind: Parameters<typeof isModelShown>[2], text = "") =>
      models.filter((model) => isModelShown(page, model, kind, text)).map(({ name }) => name);
    assert.deepEqual(shown("all models"), ["c", "b", "a"]);
    assert.deepEqual(shown("not passed"), ["c", "b"]);
    assert.deepEqual(shown("changed"), ["c", "a"]);
    assert.deepEqual(shown("new and wrong"), ["c"]);
    assert.deepEqual(shown("all models", "again"), ["a"]);
  });

  it("are put together from lists, with what is known of some of them", () => {
    const detail = { text: "broken", command: "", was: "", findings: [], more: 0, ops: [], pictures: [] };
    const { cases } = zooOf({
      kind: "zoo",
      name: "nightly",
      run: 2,
      started: "",
      tool: "",
      complete: true,
      expected: 2,
      before: null,
      statuses: page.statuses,
      failures: 1,
      cases: {
        texts: ["a", "x", "BM1684X F32", "", "b", "</script>", "broken"],
        key: [0, 4],
        model: [1, 5],
        column: [2, 2],
        status: [0, 2],
        change: [3, 6],
        seconds: [1, 2],
        was: [null, 1],
        counting: [1],
        detailed: [1],
      },
      details: [detail],
      columns: 60,
      gone: [],
      tolerated: [],
      expired: [],
      flaky: [],
      trend: [],
      slowest: [1, 0],
    });
    assert.deepEqual(cases, [
      { ...at("x", "BM1684X F32", "pass"), key: "a" },
      {
        ...at("</script>", "BM1684X F32", "error"),
        key: "b",
        change: "broken",
        seconds: 2,
        was: 1,
        counts: true,
        detail,
      },
    ]);
  });

  it("are summed up", () => {
    assert.equal(totals(page), "3 pass, 1 fail, 1 error");
    assert.equal(totals(page, [0, 2, 1]), "2 fail, 1 error");
    assert.deepEqual(
      changesOf(page.cases).map(({ change }) => change),
      ["broken", "mended"],
    );
    assert.equal(secondsText({ seconds: 3, was: 1 }), "3.0 s (was 1.0 s)");
    assert.equal(secondsText({ seconds: 1.1, was: 1 }), "1.1 s");
  });
});
