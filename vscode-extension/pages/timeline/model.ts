/** A profile's Trace Events, put together by track. */
import type { Trace } from "../../src/protocol/generated";
import { t } from "../shared/l10n";

/** An op instance or a command on its track, from `start` to `stop` in the unit of the trace. */
export interface Slice {
  readonly name: string;
  readonly start: number;
  readonly stop: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** An engine of a core: ops, and in them their commands, each in the order of time. */
export interface Track {
  readonly title: string;
  readonly ops: readonly Slice[];
  readonly commands: readonly Slice[];
}

/** Bytes in use in a memory from each of these times on. */
export interface Counter {
  readonly title: string;
  readonly points: readonly { readonly at: number; readonly bytes: number }[];
  readonly most: number;
}

export interface Timeline {
  readonly tracks: readonly Track[];
  readonly counters: readonly Counter[];
  readonly stop: number;
  readonly unit: string;
}

export function timelineOf({ traceEvents, otherData }: Pick<Trace, "traceEvents" | "otherData">): Timeline {
  const names = new Map<string, string>();
  const tracks = new Map<string, { title: string; ops: Slice[]; commands: Slice[] }>();
  const counters = new Map<string, { title: string; points: { at: number; bytes: number }[] }>();
  const cores = new Set(traceEvents.map(({ pid }) => pid)).size;
  let stop = 0;
  for (const event of traceEvents) {
    const place = `${String(event.pid)}.${String(event.tid)}`;
    if (event.ph === "M" && event.name === "thread_name") names.set(place, String(event.args.name));
    if (event.ph === "X") {
      const engine = names.get(place) ?? "";
      const title = cores > 1 ? t("{0}, core {1}", engine, event.pid) : engine;
      const track = tracks.get(place) ?? { title, ops: [], commands: [] };
      tracks.set(place, track);
      const start = event.ts ?? 0;
      const slice = { name: event.name, start, stop: start + (event.dur ?? 0), args: event.args };
      (event.cat === "op" ? track.ops : track.commands).push(slice);
      stop = Math.max(stop, slice.stop);
    }
    if (event.ph === "C") {
      const counter = counters.get(event.name) ?? { title: event.name, points: [] };
      counters.set(event.name, counter);
      counter.points.push({ at: event.ts ?? 0, bytes: Number(event.args.bytes) });
    }
  }
  const sorted = [...tracks]
    .sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }))
    .map(([, track]) => track);
  const levels = [...counters.values()].map((counter) => ({
    ...counter,
    most: Math.max(...counter.points.map(({ bytes }) => bytes)),
  }));
  return {
    tracks: sorted,
    counters: levels,
    stop,
    unit: otherData.timeUnit === "microseconds" ? "µs" : otherData.timeUnit,
  };
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
export function timeOf({ tracks, stop }: Timeline, ordinal: number): number {
  for (const { commands } of tracks) {
    const found = commands.find(({ args }) => args.ordinal === ordinal);
    if (found !== undefined) return found.start;
  }
  return stop;
}

/** Bytes in use at a time. */
export function levelAt({ points }: Counter, time: number): number {
  return points.filter(({ at }) => at <= time).at(-1)?.bytes ?? 0;
}
