import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Span, ticks } from "../pages/shared/ticks";
import { firstAfter, levelAt, timeOf, timelineOf } from "../pages/timeline/model";
import type { Trace, TraceEvent } from "../src/protocol/generated";

const slice = (
  tid: number,
  cat: TraceEvent["cat"],
  name: string,
  ts: number,
  dur: number,
  args: Record<string, unknown>,
): TraceEvent => ({
  ph: "X",
  pid: 0,
  tid,
  ...(cat && { cat }),
  name,
  ts,
  dur,
  args,
});
const trace: Pick<Trace, "traceEvents" | "otherData"> = {
  traceEvents: [
    { ph: "M", name: "thread_name", pid: 0, tid: 2, args: { name: "DMA" } },
    { ph: "M", name: "thread_name", pid: 0, tid: 1, args: { name: "TIU" } },
    slice(2, "op", "tpu.Load x", 0, 2, { line: 17 }),
    slice(2, "command", "dma.tensor", 0, 2, { ordinal: 0 }),
    slice(1, "op", "tpu.Conv2D y", 2, 4, { line: 22 }),
    slice(1, "command", "conv.normal", 2, 3, { ordinal: 1 }),
    slice(1, "command", "arith.add", 5, 1, { ordinal: 2 }),
    { ph: "C", name: "L2", pid: 0, ts: 0, args: { bytes: 64 } },
    { ph: "C", name: "L2", pid: 0, ts: 4, args: { bytes: 16 } },
  ],
  otherData: {
    model: "",
    chip: "BM1684X",
    clockMHz: 1000,
    timeUnit: "microseconds",
    source: "",
    compilerFigures: true,
  },
};

describe("the timeline", () => {
  const timeline = timelineOf(trace);

  it("has a track for each engine, with ops and their commands", () => {
    const told = timeline.tracks.map(({ title, ops, commands }) => [
      title,
      ops.map(({ name }) => name),
      commands.length,
    ]);
    assert.deepEqual(told, [
      ["TIU", ["tpu.Conv2D y"], 2],
      ["DMA", ["tpu.Load x"], 1],
    ]);
    assert.deepEqual([timeline.stop, timeline.unit], [6, "µs"]);
  });

  it("knows when a command begins, and when all have ended", () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((ordinal) => timeOf(timeline, ordinal)),
      [0, 2, 5, 6],
    );
  });

  it("finds what is under a time", () => {
    const commands = timeline.tracks[0]?.commands ?? [];
    assert.deepEqual(
      [0, 2, 4.9, 5, 6].map((time) => firstAfter(commands, time)),
      [0, 0, 0, 1, 2],
    );
    const counter = timeline.counters[0] ?? assert.fail();
    assert.deepEqual(
      [3.9, 4, 99].map((time) => levelAt(counter, time)),
      [64, 16, 16],
    );
    assert.equal(counter.most, 64);
  });
});

describe("an axis", () => {
  it("is marked at round numbers", () => {
    assert.deepEqual(ticks(0, 58, 5, 1), [0, 20, 40]);
    assert.deepEqual(ticks(0, 3, 10, 1), [0, 1, 2, 3]);
  });

  it("keeps the point it is zoomed at, and does not leave its ends", () => {
    const span = new Span(0, 100, 1);
    span.zoom(0.5, 40);
    assert.deepEqual([span.from, span.to], [20, 70]);
    span.move(1000);
    assert.deepEqual([span.from, span.to], [50, 100]);
    span.zoom(1e9, 60);
    assert.deepEqual([span.from, span.to], [0, 100]);
  });
});
