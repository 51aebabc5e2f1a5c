import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byFile, firstFinding, mayBringFindings } from "../src/diagnostics/findings";
import * as fixtures from "./fixtures";

const finding = (path: string | undefined, line: number) => ({
  ...fixtures.finding(line),
  ...(path === undefined ? {} : { path }),
});

describe("findings of sanitizers", () => {
  it("are shown in the file they are about", () => {
    const files = byFile([finding("/a/final.mlir", 3), finding("/a/final.mlir", 7), finding("/b/final.mlir", 1)]);
    assert.deepEqual([...files.keys()], ["/a/final.mlir", "/b/final.mlir"]);
    assert.deepEqual(
      files.get("/a/final.mlir")?.map((f) => f.command.line),
      [3, 7],
    );
  });
  it("without a line of a file are left to the console", () => {
    assert.equal(byFile([finding(undefined, 3), finding("/a/final.mlir", 0)]).size, 0);
  });
  it("are asked for after stops and console commands only", () => {
    assert.ok(mayBringFindings({ type: "event", event: "stopped" }));
    assert.ok(mayBringFindings({ type: "response", command: "evaluate" }));
    assert.ok(!mayBringFindings({ type: "event", event: "output" }));
    assert.ok(!mayBringFindings({ type: "response", command: "variables" }));
  });
});

describe("what is wrong before anything runs", () => {
  const problem = (line: number, severity: number, data?: unknown) => ({
    message: `m${String(line)}`,
    range: { start: { line } },
    severity,
    data,
  });

  it("is the earliest error of a command", () => {
    const found = [
      problem(1, 0),
      problem(2, 0, null),
      problem(3, 1, { ordinal: 4 }),
      problem(9, 0, { ordinal: 20 }),
      problem(11, 0, { ordinal: 7 }),
    ];
    assert.deepEqual(firstFinding(found), { message: "m11", line: 12, ordinal: 7 });
    assert.equal(firstFinding(found.slice(0, 3)), undefined);
  });
});
