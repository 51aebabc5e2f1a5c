/** The rows of the drawing: cores that can be folded, in them their engines, then memories. All lengths in pixels. */
import { t } from "../shared/l10n";
import type { Counter, Slice, Timeline, Track } from "./model";

/** Heights: of the axis, of a core's title, and what is between rows. */
export const AXIS = 20;
const CORE = 18;
const GAP = 8;
/** The least heights: of a track's ops and commands, of a counter. */
const OPS = 20;
const COMMANDS = 16;
const COUNTER = 36;
/** Where there is room, rows are up to this many times as high. */
const MOST_STRETCH = 3;
/** Cores up to which none is folded when the page opens; of more, the first is open. */
const OPEN_CORES = 2;

export type Row = { readonly top: number; readonly height: number } & (
  | { readonly kind: "core"; readonly core: number; readonly isFolded: boolean; readonly tracks: readonly Track[] }
  /** `ops`: height of the ops, above the commands. */
  | { readonly kind: "track"; readonly track: Track; readonly ops: number }
  | { readonly kind: "counter"; readonly counter: Counter }
);

/** A slice and the row of slices it is in. */
export interface Found {
  readonly slice: Slice;
  readonly slices: readonly Slice[];
  readonly track: Track;
}

export class Rows {
  readonly all: readonly Row[];
  readonly height: number;

  /** `room`: the height that is there for all rows. */
  constructor({ tracks, counters, cores }: Timeline, folded: ReadonlySet<number>, room = 0) {
    const rows: Row[] = [];
    let top = AXIS;
    const isShown = (core: number) => core < 0 || !folded.has(core);
    const shown = {
      tracks: tracks.filter(({ core }) => isShown(core)).length,
      counters: counters.filter(({ core }) => isShown(core)).length,
    };
    const least = shown.tracks * (OPS + COMMANDS) + shown.counters * COUNTER;
    const titles = cores.length > 1 ? cores.length * (CORE + 2) : 0;
    const others = AXIS + titles + (shown.tracks + shown.counters) * GAP;
    const stretch = Math.min(Math.max((room - others) / Math.max(least, 1), 1), MOST_STRETCH);
    const stretched = (height: number) => Math.floor(height * stretch);
    const ops = stretched(OPS);
    const add = (height: number, row: (place: { top: number; height: number }) => Row) => {
      rows.push(row({ top, height }));
      top += height + (height === CORE ? 2 : GAP);
    };
    const addCounter = (counter: Counter) => {
      add(stretched(COUNTER), (place) => ({ ...place, kind: "counter", counter }));
    };
    for (const core of cores) {
      const own = tracks.filter((track) => track.core === core);
      const isFolded = folded.has(core);
      if (cores.length > 1) add(CORE, (place) => ({ ...place, kind: "core", core, isFolded, tracks: own }));
      if (isFolded) continue;
      for (const track of own) add(ops + stretched(COMMANDS), (place) => ({ ...place, kind: "track", track, ops }));
      counters.filter((one) => one.core === core).forEach(addCounter);
    }
    counters.filter(({ core }) => core < 0).forEach(addCounter);
    this.all = rows;
    this.height = top;
  }

  at(y: number): Row | undefined {
    return this.all.find(({ top, height }) => top <= y && y < top + height);
  }

  /** Rows of slices, from the top. */
  get slices(): { readonly track: Track; readonly slices: readonly Slice[] }[] {
    return this.all.flatMap((row) =>
      row.kind === "track"
        ? [
            { track: row.track, slices: row.track.ops },
            { track: row.track, slices: row.track.commands },
          ]
        : [],
    );
  }

  /** Middle of the row that a command is drawn in; of a folded core its title. */
  middleOf(command: number): number | undefined {
    for (const row of this.all) {
      if (row.kind === "track" && has(row.track, command)) return row.top + (row.ops + row.height) / 2;
      if (row.kind === "core" && row.isFolded && row.tracks.some((track) => has(track, command)))
        return row.top + row.height / 2;
    }
    return undefined;
  }
}

/** The commands of a track are in the order of their ordinals. */
function has({ commands }: Track, ordinal: number): boolean {
  let [low, high] = [0, commands.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((commands[middle]?.first ?? 0) < ordinal) low = middle + 1;
    else high = middle;
  }
  return commands[low]?.first === ordinal;
}

/** Ops and commands whose name contains a text, in the order of time. */
export function matchesOf({ tracks }: Timeline, text: string): Found[] {
  return tracks
    .flatMap((track) =>
      [track.ops, track.commands].flatMap((slices) =>
        slices.filter(({ name }) => name.toLowerCase().includes(text)).map((slice) => ({ slice, slices, track })),
      ),
    )
    .sort((one, other) => one.slice.start - other.slice.start);
}

/** Cores that are folded when the page opens. */
export function foldedAtFirst(cores: readonly number[]): Set<number> {
  return new Set(cores.length > OPEN_CORES ? cores.slice(1) : []);
}

export function coreTitle(row: { readonly core: number; readonly isFolded: boolean }): string {
  return `${row.isFolded ? "▸" : "▾"} ${t("core {0}", row.core)}`;
}
