/** What a selection adds up to. */
import type { Slice, Timeline, Track } from "./model";

export interface Sum {
  readonly commands: number;
  readonly cycles: number;
  readonly bytes: number;
  /** Of the time of all engines that is spent in it. */
  readonly share: number;
  /** Cycles before anything was measured, where something was. */
  readonly expected?: number;
}

/** A part of a sum, by track and name. */
export interface Part extends Sum {
  readonly track: Track;
  readonly name: string;
}

/** The commands of a slice, of all engines between its first and last one. */
export function sumOf(timeline: Timeline, { first, last, line }: Slice, track: Track): Sum {
  const within = track.commands.filter(
    (command) => command.first >= first && command.last <= last && command.line === line,
  );
  return add(timeline, within);
}

/** Parts of what lies between two times, largest first: per engine and op; commands of no op by their own name. */
export function partsOf(timeline: Timeline, from: number, to: number): Part[] {
  const groups = new Map<string, { track: Track; name: string; commands: Slice[] }>();
  for (const track of timeline.tracks) {
    const names = new Map(track.ops.map(({ line, name }) => [line, name]));
    for (const command of track.commands) {
      if (command.stop <= from || command.start >= to) continue;
      const name = names.get(command.line) ?? command.name;
      const key = `${track.title} ${String(command.line)} ${name}`;
      const group = groups.get(key) ?? { track, name, commands: [] };
      groups.set(key, group);
      group.commands.push(command);
    }
  }
  return [...groups.values()]
    .map(({ track, name, commands }) => ({ track, name, ...add(timeline, commands) }))
    .sort((one, other) => other.cycles - one.cycles);
}

export function total(parts: readonly Sum[]): Sum {
  const add = (of: (part: Sum) => number) => parts.reduce((sum, part) => sum + of(part), 0);
  return {
    commands: add(({ commands }) => commands),
    cycles: add(({ cycles }) => cycles),
    bytes: add(({ bytes }) => bytes),
    share: add(({ share }) => share),
    ...(parts.some(({ expected }) => expected !== undefined) ? { expected: add(({ expected }) => expected ?? 0) } : {}),
  };
}

function add({ durations, bytes, cyclesPerUnit, expected }: Timeline, commands: readonly Slice[]): Sum {
  const all = durations.reduce((sum, duration) => sum + duration, 0) || 1;
  const time = commands.reduce((sum, { first }) => sum + (durations[first] ?? 0), 0);
  return {
    commands: commands.length,
    cycles: time * cyclesPerUnit,
    bytes: commands.reduce((sum, { first }) => sum + (bytes[first] ?? 0), 0),
    share: time / all,
    ...(expected === undefined
      ? {}
      : { expected: commands.reduce((sum, { first }) => sum + (expected[first] ?? 0), 0) * cyclesPerUnit }),
  };
}
