/** Versions of a tensor in words and numbers. */
import type { TensorVersion } from "../../src/protocol/generated";
import { t } from "../shared/l10n";
import { count } from "../shared/text";

/** Rows of numbers; null where one is not finite. */
export type Plane = readonly (readonly (number | null)[])[];

/** Index of the version that is there at a moment. */
export function latestAt(versions: readonly Pick<TensorVersion, "moment">[], ordinal: number): number {
  return versions.filter(({ moment }) => moment <= ordinal).length - 1;
}

/** Element by element; null where one of them is. */
export function subtract(now: Plane, before: Plane): Plane {
  return now.map((row, y) =>
    row.map((number, x) => {
      const other = before[y]?.[x] ?? null;
      return number === null || other === null ? null : number - other;
    }),
  );
}

export function writerText({ first, last, opcode, tensor, edit, moment, covers }: TensorVersion): string {
  if (edit !== "") return t("edit at {0}: {1}", count(moment), edit);
  if (first === null || last === null) return tensor === "" ? t("at the start") : t("at the start: {0}", tensor);
  const commands = first === last ? t("command {0}", count(last)) : t("commands {0} to {1}", count(first), count(last));
  const written = [opcode, tensor, commands].filter((word) => word !== "").join(" · ");
  return covers ? written : t("{0} (a part of it)", written);
}

export function readersText({ readers, readBy }: TensorVersion): string {
  if (readers === 0) return t("never read");
  const named = readBy.map(({ ordinal, opcode, name }) => `${opcode} ${name} (${count(ordinal)})`.replace("  ", " "));
  return t("read by {0}: {1}", count(readers), named.join(", ") + (readers > readBy.length ? ", ..." : ""));
}
