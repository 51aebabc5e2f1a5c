import type { TensorElement, TensorStatistics } from "../../src/protocol/generated";
import { button, html } from "../shared/dom";
import { t } from "../shared/l10n";
import { short } from "./colours";

/** Name and value, one below the other. */
function rows(of: Record<string, string | undefined>): Node[] {
  return Object.entries(of).flatMap(([name, value]) =>
    value === undefined ? [] : [html("dt", {}, name), html("dd", {}, value)],
  );
}

/** Rows about the element at the cursor: the number, its bits, and the expected number. */
export function cursorRows(index: readonly number[], element: TensorElement, dtype: string): Node[] {
  const { stored, actual, bits, binary, reference, error } = element;
  return rows({
    [t("index")]: `[${index.join(", ")}]`,
    [t("value")]: actual,
    [t("stored")]: stored === actual ? undefined : `${stored} (${dtype})`,
    [t("bits")]: bits,
    [t("binary")]: binary && grouped(binary, dtype),
    [t("reference")]: reference,
    [t("error")]: error,
  });
}

const EXPONENT_BITS: Readonly<Partial<Record<string, number>>> = { f32: 8, f16: 5, bf16: 8, f8e4m3: 4, f8e5m2: 5 };

/** Sign, exponent and fraction of a float apart; of integers groups of four bits. */
function grouped(binary: string, dtype: string): string {
  const exponent = EXPONENT_BITS[dtype];
  if (exponent === undefined) return binary.replace(/\B(?=(?:.{4})+$)/g, " ");
  return `${binary.slice(0, 1)} ${binary.slice(1, 1 + exponent)} ${binary.slice(1 + exponent)}`;
}

/** `saturated`: stored integers at the ends of their range, where that is known. */
export function statisticsRows(found: TensorStatistics, size: number, saturated?: number): Node[] {
  const share = (count: number) =>
    count === 0 ? "0" : `${count.toLocaleString("en")} (${((100 * count) / size).toPrecision(3)} %)`;
  return rows({
    [t("min")]: short(found.minimum),
    [t("max")]: short(found.maximum),
    [t("mean")]: short(found.mean),
    [t("deviation")]: short(found.deviation),
    NaN: share(found.nan),
    Inf: share(found.inf),
    [t("zeros")]: share(found.zeros),
    [t("saturated")]: saturated === undefined ? undefined : share(saturated),
  });
}

/** Buttons that lead to the elements of largest magnitude. */
export function largestList(found: TensorStatistics, go: (index: readonly number[]) => void): Node[] {
  return found.largest.map(({ index, value }) => {
    const link = button(
      `[${index.join(", ")}]`,
      () => {
        go(index);
      },
      { class: "link" },
    );
    return html("li", {}, link, ` ${value}`);
  });
}
