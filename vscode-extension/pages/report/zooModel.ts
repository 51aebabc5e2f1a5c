/** The cases of a zoo by model and column, and how they came out. */
import type { ZooCase, ZooPage } from "../../src/protocol/generated";
import { count } from "../shared/text";

/** The most important change first. */
const CHANGES = ["broken", "worse", "new", "better", "mended"];
/** A time has changed if it is so much shorter or longer. */
const SHARE = 0.2;

/** `s0` for the best status, and so on. */
export function statusClass({ statuses }: Pick<ZooPage, "statuses">, status: string): string {
  return `s${String(statuses.indexOf(status))}`;
}

/** `3 pass, 1 fail`; `counts`: by status, default: of all cases. */
export function totals({ statuses, cases }: Pick<ZooPage, "statuses" | "cases">, counts?: readonly number[]): string {
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
export function modelsOf(page: Pick<ZooPage, "statuses" | "cases">): Model[] {
  const groups = new Map<string, ZooCase[]>();
  for (const one of page.cases) groups.set(one.model, [...(groups.get(one.model) ?? []), one]);
  const models = [...groups].map(([name, cases]) => {
    const cells = new Map<string, ZooCase[]>();
    for (const one of cases) cells.set(one.column, [...(cells.get(one.column) ?? []), one]);
    return { name, cells, cases };
  });
  const isNew = ({ cases }: Model) => Number(cases.some(({ counts }) => counts));
  const severity = ({ cases }: Model) => page.statuses.indexOf(worstOf(page, cases)?.status ?? "");
  return models.sort(
    (one, other) => isNew(other) - isNew(one) || severity(other) - severity(one) || (one.name < other.name ? -1 : 1),
  );
}

export function worstOf({ statuses }: Pick<ZooPage, "statuses">, cases: readonly ZooCase[]): ZooCase | undefined {
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
export function isModelShown({ statuses }: Pick<ZooPage, "statuses">, model: Model, kind: Kind, text: string): boolean {
  const is = {
    "all models": () => true,
    "not passed": ({ status }: ZooCase) => status !== statuses[0],
    changed: ({ change }: ZooCase) => change !== "",
    "new and wrong": ({ counts }: ZooCase) => counts,
  }[kind];
  if (!model.cases.some(is)) return false;
  return [model.name, ...model.cases.map(({ key }) => key)].some((name) => name.toLowerCase().includes(text));
}
