/** The columns of the table of compared tensors. */
import type { Verdict } from "../../src/compare/results";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import type { Column } from "../shared/table";
import { METRICS, metricOf, metricText, type Compared, type ColumnName } from "./model";

/** Columns of a page beside the source; there is no room for others. */
const NARROW: ReadonlySet<ColumnName> = new Set(["verdict", "tensor", "cosine", "max_abs", "bad_share"]);

/** `isFirst`: whether a tensor is the first that differs; `labelOf`: of a tensor's name, in place of all of it. */
export function columns<Tensor extends Compared>(
  isFirst: (tensor: Tensor) => boolean,
  labelOf = (name: string) => name,
): Column<Tensor, ColumnName>[] {
  const column = (name: ColumnName, cell: (tensor: Tensor) => HTMLTableCellElement, isNumber = false) => ({
    name,
    title: columnName(name),
    isNumber,
    isWide: !NARROW.has(name),
    cell,
  });
  return [
    column("verdict", (tensor) => {
      const text = isFirst(tensor) ? t("first to differ") : verdictName(tensor.verdict);
      return html(
        "td",
        { class: "verdict", title: text },
        SIGNS[tensor.verdict],
        html("span", { class: "words" }, ` ${text}`),
      );
    }),
    column("line", ({ line }) => html("td", { class: "number" }, line > 0 ? String(line) : "")),
    column("opcode", ({ opcode }) => html("td", {}, opcode.replace(/^tpu\./, ""))),
    column("tensor", (tensor) =>
      html(
        "td",
        { class: "name", title: tensor.name },
        html("span", { class: "status" }, `${roleName(tensor)} `),
        labelOf(tensor.name),
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
