/** The commands over time, put together by engine: of `tdb/timeline` and, each time more is known, of `tdb/times`. */
import type { CommandOrder, CommandTimes } from "../../src/protocol/generated";
import { t } from "../shared/l10n";

/** An op instance or a command on its track, from `start` to `stop` in the unit of the times. */
export interface Slice {
  readonly name: string;
  /** Whose colour it has: of its op `Conv2D`, of a command of no op `dma`. */
  readonly kind: string;
  readonly start: number;
  readonly stop: number;
  /** Ordinals of its first and last command. */
  readonly first: number;
  readonly last: number;
  /** Of final.mlir; 0 for none. */
  readonly line: number;
  /** Which part of an op it is, in the words of the compiler. */
  readonly part: string;
}

/** An engine of a core: ops, and in them their commands, each in the order of time. */
export interface Track {
  readonly title: string;
  readonly core: number;
  readonly ops: readonly Slice[];
  readonly commands: readonly Slice[];
}

/** Bytes in use in a memory from each of these times on. */
export interface Counter {
  readonly title: string;
  /** -1 where all cores share it. */
  readonly core: number;
  readonly points: readonly { readonly at: number; readonly bytes: number }[];
  readonly most: number;
}

export interface Timeline {
  readonly tracks: readonly Track[];
  readonly counters: readonly Counter[];
  readonly cores: readonly number[];
  readonly stop: number;
  readonly unit: string;
  /** By ordinal. */
  readonly starts: readonly number[];
  readonly durations: readonly number[];
  readonly bytes: readonly number[];
  readonly cyclesPerUnit: number;
  /** Where the times are those of a board: what was expected, by ordinal. */
  readonly expected?: readonly number[];
}

export const NOTHING: Timeline = {
  tracks: [],
  counters: [],
  cores: [],
  stop: 1,
  unit: "",
  starts: [],
  durations: [],
  bytes: [],
  cyclesPerUnit: 1,
};

export function timelineOf(order: CommandOrder, times: CommandTimes): Timeline {
  const { start, duration } = times;
  const cores = [...new Set(order.tracks.map(({ core }) => core))];
  const stopOf = (ordinal: number) => (start[ordinal] ?? 0) + (duration[ordinal] ?? 0);
  const stop = start.reduce((latest, _, ordinal) => Math.max(latest, stopOf(ordinal)), 0);
  const tracks = order.tracks.map(({ core, engine }) => ({
    title: cores.length > 1 ? t("{0}, core {1}", engine, core) : engine,
    core,
    ops: [] as Slice[],
    commands: [] as Slice[],
    latest: -1,
  }));
  order.track.forEach((index, ordinal) => {
    const track = tracks[index];
    if (track === undefined) return;
    const place = order.op[ordinal] ?? -1;
    const op = order.ops[place];
    const span = { start: start[ordinal] ?? 0, stop: stopOf(ordinal), first: ordinal, last: ordinal };
    const line = op?.line ?? 0;
    const command = order.names[order.name[ordinal] ?? -1] ?? "";
    const kind = kindOf(op?.opcode ?? command);
    track.commands.push({ ...span, name: command, kind, line, part: "" });
    const before = track.ops.at(-1);
    if (op !== undefined && before !== undefined && place === track.latest)
      track.ops[track.ops.length - 1] = { ...before, stop: span.stop, last: ordinal };
    else if (op !== undefined)
      track.ops.push({ ...span, name: `${op.opcode} ${op.name}`.trim(), kind, line, part: op.slice });
    track.latest = place;
  });
  const local = (title: string, core: number) => (cores.length > 1 && title.includes("core") ? core : -1);
  const counters = (times.memories ?? []).map(({ title, core, ordinals, bytes }) => ({
    title,
    core: local(title, core),
    points: ascending(
      ordinals.map((ordinal) => start[ordinal] ?? stop),
      bytes,
    ),
    most: bytes.reduce((most, level) => Math.max(most, level), 0),
  }));
  return {
    tracks,
    counters,
    cores,
    stop,
    unit: order.timeUnit === "microseconds" ? "µs" : order.timeUnit,
    starts: start,
    durations: duration,
    bytes: times.bytes,
    cyclesPerUnit: times.cyclesPerUnit,
    ...(times.expected === undefined ? {} : { expected: times.expected }),
  };
}

/** `Conv2D` of `tpu.Conv2D`; `conv` of `conv.normal`. */
function kindOf(name: string): string {
  return name.replace(/^(tpu|top)\./, "").split(".")[0] ?? "";
}

/** Commands of different engines begin in another order than that of their ordinals. */
function ascending(times: readonly number[], bytes: readonly number[]): { at: number; bytes: number }[] {
  let latest = 0;
  return times.map((at, index) => ({ at: (latest = Math.max(latest, at)), bytes: bytes[index] ?? 0 }));
}

/** Index of the first slice that ends after a time; slices of a list follow each other. */
export function firstAfter(slices: readonly Slice[], time: number): number {
  let [low, high] = [0, slices.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((slices[middle]?.stop ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Start time of the command that runs next; the end if all have run. */
export function timeOf({ starts, stop }: Timeline, ordinal: number): number {
  return starts[ordinal] ?? stop;
}

/** Bytes in use at a time. */
export function levelAt({ points }: Counter, time: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.at ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return points[low - 1]?.bytes ?? 0;
}
