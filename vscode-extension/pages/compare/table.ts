/** The columns of the table of compared tensors. */
import type { Verdict } from "../../src/compare/results";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Column } from "../shared/table";
import { METRICS, metricOf, type Compared, type ColumnName, type Metric } from "./model";

const DIGITS = 6;

/** `isFirst`: whether a tensor is the first that differs. */
export function columns<Tensor extends Compared>(isFirst: (tensor: Tensor) => boolean): Column<Tensor, ColumnName>[] {
  const column = (name: ColumnName, cell: (tensor: Tensor) => HTMLTableCellElement, isNumber = false) => ({
    name,
    title: columnName(name),
    isNumber,
    cell,
  });
  return [
    column("verdict", (tensor) => {
      const text = isFirst(tensor) ? t("first to differ") : verdictName(tensor.verdict);
      return html("td", { class: "verdict" }, `${SIGNS[tensor.verdict]} ${text}`);
    }),
    column("line", ({ line }) => html("td", { class: "number" }, line > 0 ? String(line) : "")),
    column("opcode", ({ opcode }) => html("td", {}, opcode.replace(/^tpu\./, ""))),
    column("tensor", (tensor) =>
      html(
        "td",
        { class: "name", title: tensor.name },
        html("span", { class: "status" }, `${roleName(tensor)} `),
        tensor.name,
      ),
    ),
    ...METRICS.map(({ name, isWorseHigh }) => ({
      ...column(
        name,
        (tensor: Tensor) => html("td", { class: "number" }, metricText(metricOf(tensor, name), name)),
        true,
      ),
      isDescending: isWorseHigh,
    })),
  ];
}

const SIGNS: Readonly<Record<Verdict, string>> = { pass: "✓", fail: "✗", unknown: "?", excepted: "–" };

export function verdictName(verdict: Verdict): string {
  switch (verdict) {
    case "pass":
      return t("as expected");
    case "fail":
      return t("differs");
    case "unknown":
      return t("not compared");
    case "excepted":
      return t("left out");
  }
}

function roleName({ role, index }: Compared): string {
  switch (role) {
    case "operand":
      return t("in {0}", index);
    case "result":
      return t("out {0}", index);
    case "output":
      return t("output {0}", index);
  }
}

function columnName(column: ColumnName): string {
  switch (column) {
    case "verdict":
      return t("verdict");
    case "line":
      return t("line");
    case "opcode":
      return t("op");
    case "tensor":
      return t("tensor");
    case "cosine":
      return t("cosine");
    case "euclidean":
      return t("euclidean");
    case "sqnr":
      return t("SQNR dB");
    case "max_abs":
      return t("max abs");
    case "max_rel":
      return t("max rel");
    case "max_ulp":
      return t("max ulp");
    case "bad_share":
      return t("bad %");
    case "nan_count":
      return t("NaN");
  }
}

/** As the table writes it; nothing where nothing was measured. */
export function metricText(value: number | undefined, metric: Metric): string {
  if (value === undefined) return "";
  if (metric === "bad_share") return (100 * value).toPrecision(3);
  return Number.isInteger(value) || !Number.isFinite(value) ? String(value) : String(Number(value.toPrecision(DIGITS)));
}
