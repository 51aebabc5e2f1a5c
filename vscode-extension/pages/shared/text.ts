/** Numbers as text. */
const KIBI = 1024;
const BINARY = ["B", "KiB", "MiB", "GiB"] as const;

/** Bytes in the largest unit that does not need more than two decimals. */
export function bytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= KIBI && unit < BINARY.length - 1) {
    value /= KIBI;
    unit++;
  }
  return `${Number(value.toFixed(value < 10 ? 2 : 1)).toLocaleString("en-US")} ${BINARY[unit] ?? ""}`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** Ascending numbers, runs of them as their ends: `0-3,7`. */
export function ranges(numbers: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${String(from)}-${String(to)}`)).join(",");
}

export function hex(value: number): string {
  return `0x${value.toString(16).toUpperCase()}`;
}

/** `5.008 µs`: milliseconds in the largest unit in which they are at least one. */
export function timeText(milliseconds: number): string {
  const units = ["s", "ms", "µs", "ns"];
  let value = milliseconds / 1000;
  let unit = 0;
  for (; value < 1 && unit < units.length - 1; unit++) value *= 1000;
  return `${String(Number(value.toPrecision(4)))} ${units[unit] ?? ""}`;
}

/** `f32[1,16,32,32]` */
export function type(dtype: string, shape: readonly number[]): string {
  return `${dtype}[${shape.join(",")}]`;
}

/** What names are made of: `/model.6/m.1/Conv_output_0`. */
const SEPARATOR = /[/._:-]/;
export const ELLIPSIS = "…";
/** Letters by which a label becomes longer where it is the same as another. */
const MORE = 4;
/** Share of the names that have a word that says nothing. */
const EVERYWHERE = 0.9;
/** Letters of affixes that are worth dropping. */
const WORTHWHILE = 4;

/** A name with `…` in its middle if it has more letters than `length`: the ends of names tell more than what is between. */
export function elided(name: string, length: number): string {
  if (name.length <= length) return name;
  const head = Math.ceil((length - 1) / 2);
  return `${name.slice(0, head)}${ELLIPSIS}${name.slice(name.length - Math.max(1, length - 1 - head))}`;
}

/**
 * Labels of names that are listed together, of about `length` letters: what all of them share is dropped, the rest
 * elided, and no two labels are alike.
 */
export function labelsOf(names: Iterable<string>, length: number): Map<string, string> {
  const all = [...new Set(names)];
  const [front, back] = all.length > 1 ? affixes(all) : [0, 0];
  const isTelling = tellingWords(all);
  const rest = new Map(
    all.map((name) => {
      const text = name.slice(front, name.length - back);
      const label = `${front > 0 ? ELLIPSIS : ""}${text}${back > 0 ? ELLIPSIS : ""}`;
      return [name, label.length <= length ? label : withoutWords(label, isTelling)];
    }),
  );
  const longest = Math.max(0, ...[...rest.values()].map((text) => text.length));
  // Labels of different groups may turn out the same: give those more room, until none do.
  const labels = distinguished(rest, length);
  for (let more = length; ; more += MORE) {
    const names = new Map<string, string[]>();
    for (const [name, label] of labels) names.set(label, [...(names.get(label) ?? []), name]);
    const alike = [...names.values()].filter((group) => group.length > 1).flat();
    if (alike.length === 0) return labels;
    // Without the words that say nothing two names may be the same: then only all of them tells them apart.
    const isSpent = more > longest;
    const texts = new Map(alike.map((name) => [name, isSpent ? name : (rest.get(name) ?? name)]));
    for (const [name, label] of distinguished(texts, more + MORE)) labels.set(name, label);
  }
}

/** Letters at the front and at the back that all names share, up to borders of their parts; 0 where few. */
function affixes(names: readonly string[]): [number, number] {
  let front = shared(names, (name, i) => name[i]);
  while (front > 0 && !SEPARATOR.test(names[0]?.[front - 1] ?? "")) front--;
  const shortest = Math.min(...names.map(({ length }) => length));
  let back = Math.min(
    shared(names, (name, i) => name[name.length - 1 - i]),
    shortest - front - 1,
  );
  while (back > 0 && !SEPARATOR.test(names[0]?.[names[0].length - back] ?? "")) back--;
  return [front < WORTHWHILE ? 0 : front, back < WORTHWHILE ? 0 : back];
}

/** Words of a name, each followed by what separates it from the next one; empty words stand for the ends. */
function wordsOf(name: string): string[] {
  return name.split(/([/._:-]+)/);
}

/** Whether a word says something of a name in a list: not where (almost) every name has it or it follows another always. */
function tellingWords(names: readonly string[]): (word: string, before: string | undefined) => boolean {
  const users = new Map<string, number>();
  const followers = new Map<string, Set<string>>();
  for (const name of names) {
    const words = wordsOf(name).filter((_, i) => i % 2 === 0);
    for (const word of new Set(words)) users.set(word, (users.get(word) ?? 0) + 1);
    words.forEach((word, i) => {
      const before = words[i - 1];
      if (before !== undefined) followers.set(before, (followers.get(before) ?? new Set()).add(word));
    });
  }
  return (word, before) => {
    if (/^\d*$/.test(word) || names.length === 1) return true;
    const isEverywhere = (users.get(word) ?? 0) >= EVERYWHERE * names.length;
    return !isEverywhere && !(before !== undefined && followers.get(before)?.size === 1);
  };
}

/** A text with `…` in the place of words that say nothing, and of the separators around them. */
function withoutWords(text: string, isTelling: (word: string, before: string | undefined) => boolean): string {
  const parts = wordsOf(text);
  let label = "";
  for (let i = 0; i < parts.length; i += 2) {
    const word = parts[i] ?? "";
    if (isTelling(word, parts[i - 2])) {
      const separator = label.endsWith(ELLIPSIS) ? "" : (parts[i - 1] ?? "");
      label += separator + word;
    } else if (!label.endsWith(ELLIPSIS)) label += ELLIPSIS;
  }
  return label.replace(/…+/g, ELLIPSIS);
}

/** Letters that all names share, in the order in which `at` gives them. */
function shared(names: readonly string[], at: (name: string, i: number) => string | undefined): number {
  const [first = ""] = names;
  let i = 0;
  while (i < first.length && names.every((name) => at(name, i) === at(first, i))) i++;
  return i;
}

/** Texts by name, elided so that none are alike but the same texts: of those that would be, what differs is kept as well. */
function distinguished(texts: ReadonlyMap<string, string>, length: number): Map<string, string> {
  const alike = new Map<string, [string, string][]>();
  for (const [name, text] of texts) {
    const label = elided(text, length);
    alike.set(label, [...(alike.get(label) ?? []), [name, text]]);
  }
  const labels = new Map<string, string>();
  for (const [label, group] of alike) {
    if (group.every(([, text]) => text === group[0]?.[1])) {
      for (const [name] of group) labels.set(name, label);
      continue;
    }
    const full = group.map(([, text]) => text);
    const front = shared(full, (text, i) => text[i]);
    const shortest = Math.min(...full.map((text) => text.length));
    const back = Math.min(
      shared(full, (text, i) => text[text.length - 1 - i]),
      shortest - front,
    );
    const middles = new Map(group.map(([name, text]) => [name, text.slice(front, text.length - back)]));
    const ends = Math.max(2, Math.floor(length / 4));
    const inner = distinguished(middles, Math.max(3, length - 2 * ends - 2));
    for (const [name, text] of group) {
      const head = text.slice(0, Math.min(ends, front));
      const tail = text.slice(text.length - Math.min(ends, back));
      const gap = (isWhole: boolean) => (isWhole ? "" : ELLIPSIS);
      const label = `${head}${gap(front <= ends)}${inner.get(name) ?? ""}${gap(back <= ends)}${tail}`;
      labels.set(name, label.replace(/…+/g, ELLIPSIS));
    }
  }
  return labels;
}
