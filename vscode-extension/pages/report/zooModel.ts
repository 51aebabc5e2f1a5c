/** The cases of a zoo by model and column, and how they came out. */
import type { ZooDetail, ZooPage } from "../../src/protocol/generated";
import { count } from "../shared/text";

/** The most important change first. */
const CHANGES = ["broken", "worse", "new", "better", "mended"];
/** A time has changed if it is so much shorter or longer. */
const SHARE = 0.2;

/** A case of a run. */
export interface ZooCase {
  readonly key: string;
  readonly model: string;
  /** Chip and precision. */
  readonly column: string;
  readonly status: string;
  readonly change: string;
  readonly seconds: number;
  /** Seconds in the run before. */
  readonly was: number | null;
  /** Whether the run fails because of it. */
  readonly counts: boolean;
  readonly detail: ZooDetail | undefined;
}

/** The data of the page, with its cases put together. */
export interface Zoo extends Omit<ZooPage, "cases" | "details"> {
  readonly cases: readonly ZooCase[];
}

export function zooOf(page: ZooPage): Zoo {
  const { cases, details, statuses } = page;
  const text = (places: readonly number[], i: number) => cases.texts[places[i] ?? -1] ?? "";
  const counting = new Set(cases.counting);
  const detailOf = new Map(cases.detailed.map((at, i) => [at, details[i]]));
  return {
    ...page,
    cases: cases.key.map((_, i) => ({
      key: text(cases.key, i),
      model: text(cases.model, i),
      column: text(cases.column, i),
      status: statuses[cases.status[i] ?? -1] ?? "",
      change: text(cases.change, i),
      seconds: cases.seconds[i] ?? 0,
      was: cases.was[i] ?? null,
      counts: counting.has(i),
      detail: detailOf.get(i),
    })),
  };
}

/** `s0` for the best status, and so on. */
export function statusClass({ statuses }: Pick<Zoo, "statuses">, status: string): string {
  return `s${String(statuses.indexOf(status))}`;
}

/** `3 pass, 1 fail`; `counts`: by status, default: of all cases. */
export function totals({ statuses, cases }: Pick<Zoo, "statuses" | "cases">, counts?: readonly number[]): string {
  const of = (status: string, i: number) =>
    counts === undefined ? cases.filter((one) => one.status === status).length : (counts[i] ?? 0);
  return statuses
    .map((status, i) => [of(status, i), status] as const)
    .filter(([number]) => number > 0)
    .map(([number, status]) => `${count(number)} ${status}`)
    .join(", ");
}

export function secondsText({ seconds, was }: Pick<ZooCase, "seconds" | "was">): string {
  const before = was !== null && was > 0 && Math.abs(seconds - was) > SHARE * was ? ` (was ${was.toFixed(1)} s)` : "";
  return `${seconds.toFixed(1)} s${before}`;
}

/** Cases that came out differently than before, those that fail the run first. */
export function changesOf(cases: readonly ZooCase[]): ZooCase[] {
  return cases
    .filter(({ change }) => change !== "")
    .sort(
      (one, other) =>
        Number(other.counts) - Number(one.counts) || CHANGES.indexOf(one.change) - CHANGES.indexOf(other.change),
    );
}

/** A row of the matrix. */
export interface Model {
  readonly name: string;
  /** Cases by column. */
  readonly cells: ReadonlyMap<string, readonly ZooCase[]>;
  readonly cases: readonly ZooCase[];
}

/** Models with what is new and wrong first, then by their worst case, then by name. */
export function modelsOf(page: Pick<Zoo, "statuses" | "cases">): Model[] {
  const groups = new Map<string, ZooCase[]>();
  for (const one of page.cases) add(groups, one.model, one);
  const models = [...groups].map(([name, cases]) => {
    const cells = new Map<string, ZooCase[]>();
    for (const one of cases) add(cells, one.column, one);
    return { name, cells, cases };
  });
  const isNew = ({ cases }: Model) => Number(cases.some(({ counts }) => counts));
  const severity = ({ cases }: Model) => page.statuses.indexOf(worstOf(page, cases)?.status ?? "");
  return models.sort(
    (one, other) => isNew(other) - isNew(one) || severity(other) - severity(one) || (one.name < other.name ? -1 : 1),
  );
}

function add(groups: Map<string, ZooCase[]>, name: string, one: ZooCase): void {
  const known = groups.get(name);
  if (known === undefined) groups.set(name, [one]);
  else known.push(one);
}

export function worstOf({ statuses }: Pick<Zoo, "statuses">, cases: readonly ZooCase[]): ZooCase | undefined {
  const severity = ({ status }: ZooCase) => statuses.indexOf(status);
  return cases.reduce<ZooCase | undefined>(
    (worst, one) => (worst === undefined || severity(one) > severity(worst) ? one : worst),
    undefined,
  );
}

/** Which models are shown. */
export const KINDS = ["all models", "not passed", "changed", "new and wrong"] as const;
export type Kind = (typeof KINDS)[number];

/** `text`: in small letters, of the model's name or a case's key. */
export function isModelShown({ statuses }: Pick<Zoo, "statuses">, model: Model, kind: Kind, text: string): boolean {
  const is = {
    "all models": () => true,
    "not passed": ({ status }: ZooCase) => status !== statuses[0],
    changed: ({ change }: ZooCase) => change !== "",
    "new and wrong": ({ counts }: ZooCase) => counts,
  }[kind];
  if (!model.cases.some(is)) return false;
  return [model.name, ...model.cases.map(({ key }) => key)].some((name) => name.toLowerCase().includes(text));
}
