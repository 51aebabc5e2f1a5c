import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Span, ticks } from "../pages/shared/ticks";
import { bundled } from "../pages/timeline/flows";
import { firstAfter, levelAt, timeOf, timelineOf } from "../pages/timeline/model";
import { Rows } from "../pages/timeline/rows";
import { partsOf, sumOf, total } from "../pages/timeline/summary";
import type { CommandOrder, CommandTimes } from "../src/protocol/generated";

/** A load, then a convolution of two commands that waits for it; the last two by another engine. */
const order: CommandOrder = {
  chip: "BM1684X",
  clockMHz: 1000,
  timeUnit: "microseconds",
  tracks: [
    { core: 0, engine: "TIU" },
    { core: 0, engine: "DMA" },
  ],
  track: [1, 0, 0],
  names: ["dma.tensor", "conv.normal", "arith.add"],
  name: [0, 1, 2],
  ops: [
    { line: 17, opcode: "tpu.Load", name: "x", slice: "" },
    { line: 22, opcode: "tpu.Conv2D", name: "y", slice: "" },
  ],
  op: [0, 1, 1],
  waits: [[0, 1]],
};
const times: CommandTimes = {
  estimated: 3,
  commands: 3,
  start: [0, 2, 5],
  duration: [2, 3, 1],
  bytes: [128, 32, 16],
  cyclesPerUnit: 1000,
  memories: [{ title: "L2", core: 0, ordinals: [0, 1, 3], bytes: [64, 16, 0] }],
};

describe("the timeline", () => {
  const timeline = timelineOf(order, times);

  it("has a track for each engine, with ops and their commands", () => {
    const told = timeline.tracks.map(({ title, ops, commands }) => [
      title,
      ops.map(({ name, first, last }) => [name, first, last]),
      commands.length,
    ]);
    assert.deepEqual(told, [
      ["TIU", [["tpu.Conv2D y", 1, 2]], 2],
      ["DMA", [["tpu.Load x", 0, 0]], 1],
    ]);
    assert.deepEqual([timeline.stop, timeline.unit], [6, "µs"]);
  });

  it("shows the order before all times are known", () => {
    const { commands, start, duration, cyclesPerUnit } = times;
    const early = timelineOf(order, { estimated: 1, commands, start, duration, bytes: [128], cyclesPerUnit });
    assert.deepEqual(
      early.tracks.map((track) => track.commands.length),
      [2, 1],
    );
    assert.deepEqual(early.counters, []);
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
      [1.9, 2, 99].map((time) => levelAt(counter, time)),
      [64, 16, 0],
    );
    assert.equal(counter.most, 64);
  });

  it("sums up an op, and a range of time", () => {
    const [tiu] = timeline.tracks;
    const op = tiu?.ops[0] ?? assert.fail();
    assert.deepEqual(sumOf(timeline, op, tiu ?? assert.fail()), { commands: 2, cycles: 4000, bytes: 48, share: 4 / 6 });
    const parts = partsOf(timeline, 1, 4);
    assert.deepEqual(
      parts.map(({ name, commands }) => [name, commands]),
      [
        ["tpu.Conv2D y", 1],
        ["tpu.Load x", 1],
      ],
    );
    assert.deepEqual([total(parts).commands, total(parts).bytes], [2, 160]);
  });

  it("says what was expected where a board was measured", () => {
    const measured = timelineOf(order, { ...times, expected: [1, 2, 4] });
    const tiu = measured.tracks[0] ?? assert.fail();
    assert.equal(sumOf(measured, tiu.ops[0] ?? assert.fail(), tiu).expected, 6000);
    assert.equal(total(partsOf(measured, 0, 6)).expected, 7000);
    assert.equal(total(partsOf(timeline, 0, 6)).expected, undefined);
  });

  it("folds a core into one row, and leads an arrow to it", () => {
    const two = timelineOf(
      {
        ...order,
        tracks: [
          { core: 0, engine: "TIU" },
          { core: 1, engine: "TIU" },
        ],
      },
      times,
    );
    const [open, folded] = [new Rows(two, new Set()), new Rows(two, new Set([1]))];
    const kinds = (rows: Rows) => rows.all.map(({ kind }) => kind);
    assert.deepEqual(kinds(open), ["core", "track", "core", "track", "counter"]);
    assert.deepEqual(kinds(folded), ["core", "track", "core", "counter"]);
    assert.ok(folded.height < open.height);
    const title = folded.all[2] ?? assert.fail();
    assert.equal(folded.middleOf(0), title.top + title.height / 2, "command 0 runs on core 1");
  });

  it("takes the height that there is, up to three times its least", () => {
    const least = new Rows(timeline, new Set());
    assert.equal(new Rows(timeline, new Set(), least.height - 50).height, least.height);
    const taller = new Rows(timeline, new Set(), least.height + 100);
    assert.ok(taller.height > least.height + 90 && taller.height <= least.height + 100, String(taller.height));
    assert.ok(new Rows(timeline, new Set(), 10_000).height < 3 * least.height);
    const [track] = taller.all;
    assert.ok(track?.kind === "track" && track.ops < track.height);
    assert.equal(taller.middleOf(1), track.top + (track.ops + track.height) / 2);
  });

  it("has one arrow for those between the same rows that begin and end near each other", () => {
    const arrow = { left: 81, top: 30, right: 202, bottom: 70 };
    const arrows = [{ ...arrow, top: 50 }, arrow, { ...arrow, left: 83, right: 206 }, { ...arrow, right: 300 }];
    assert.deepEqual(
      bundled(arrows).map(({ left, right, count }) => [left, right, count]),
      [
        [82, 204, 2],
        [81, 202, 1],
        [81, 300, 1],
      ],
    );
    assert.deepEqual(bundled([]), []);
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
