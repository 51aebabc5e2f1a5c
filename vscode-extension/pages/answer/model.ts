/** An answer as a strip: a column for each token, a row for each kind of net. */
import type { AnsweredToken, AnsweringLaunch, AnswerState, TokenShare, TokenTimes } from "../../src/protocol/generated";

/** A launch in the strip; several of one row and token are one cell, as bad as the worst of them. */
export interface Cell {
  readonly row: string;
  readonly token: number;
  readonly launch: AnsweringLaunch;
}

export interface Strip {
  readonly rows: readonly string[];
  readonly tokens: readonly AnsweredToken[];
  readonly cells: ReadonlyMap<string, Cell>;
}

/** The net that does the same for the first token and for those after it: `block 3` of block_3 and block_cache_3. */
export function rowOf(net: string): string {
  const [, layer] = /^block(?:_cache)?_(\d+)$/.exec(net) ?? [];
  if (layer !== undefined) return `block ${layer}`;
  return net === "embedding_cache" ? "embedding" : net;
}

export function keyOf(row: string, token: number): string {
  return `${String(token)} ${row}`;
}

/** The rows in the order in which they run. */
export function stripOf({ tokens, launches }: AnswerState): Strip {
  const rows = new Set<string>();
  const cells = new Map<string, Cell>();
  for (const launch of launches) {
    const row = rowOf(launch.net);
    rows.add(row);
    const key = keyOf(row, launch.token);
    if (cells.get(key)?.launch.verdict !== "wrong") cells.set(key, { row, token: launch.token, launch });
  }
  return { rows: [...rows], tokens, cells };
}

/** The first launch that is wrong, in the order in which they run. */
export function firstWrong({ launches }: AnswerState): AnsweringLaunch | undefined {
  return launches.find(({ verdict }) => verdict === "wrong");
}

/** The prompt as it is typed: `5, 17, 30` are numbers of tokens, everything else is a text. */
export function promptOf(typed: string): string | number[] {
  const text = typed.trim();
  return /^\d+(?:\s*,\s*\d+)*,?$/.test(text) ? (text.match(/\d+/g) ?? []).map(Number) : text;
}

/** How a token is shown where its text is not known. */
export function tokenText(id: number | null, text: string | null): string {
  if (id === null) return "…";
  return text === null || text === "" ? `#${String(id)}` : text;
}

/** A row of the strip of times: a share of each token's time. */
export interface ShareRow {
  readonly kind: "weights" | "net" | "op";
  readonly name: string;
  readonly shares: readonly number[];
}

/** Nets and kinds of ops that take less of every token have no row. */
const LEAST_SHARE = 0.02;

/** Loading weights, then nets, then kinds of ops. */
export function shareRows({ weights, nets, kinds }: TokenTimes): ShareRow[] {
  const rows = (kind: ShareRow["kind"], all: readonly TokenShare[]) =>
    all
      .filter(({ shares }) => Math.max(0, ...shares) >= LEAST_SHARE)
      .map(({ name, shares }): ShareRow => ({ kind, name, shares }));
  return [{ kind: "weights", name: "", shares: weights }, ...rows("net", nets), ...rows("op", kinds)];
}
