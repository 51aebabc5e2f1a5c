/** Results of comparing as texts. */
import * as vscode from "vscode";
import { leading, type ComparedOp, type ComparedRows, type Row, type Verdict } from "./results";

export function verdictName(verdict: Verdict): string {
  switch (verdict) {
    case "pass":
      return vscode.l10n.t("as expected");
    case "fail":
      return vscode.l10n.t("differs");
    case "unknown":
      return vscode.l10n.t("not compared");
    case "excepted":
      return vscode.l10n.t("left out");
  }
}

/** `tpu.Conv2D conv1`; of the outputs of the net, which belong to no op, their name. */
export function opName({ line, opcode, name }: ComparedOp): string {
  return line > 0 ? `${opcode} ${name}` : vscode.l10n.t("outputs {0}", name);
}

/** `operand 0: conv1` */
export function rowName({ role, index, name }: Row): string {
  switch (role) {
    case "operand":
      return vscode.l10n.t("operand {0}: {1}", index, name);
    case "result":
      return vscode.l10n.t("result {0}: {1}", index, name);
    case "output":
      return vscode.l10n.t("output {0}: {1}", index, name);
  }
}

/** `cosine 0.9987, largest difference 0.25`; without what is not finite, empty where nothing was measured. */
export function numbersOf({ numbers }: Row): string {
  const cosine = typeof numbers?.cosine === "number" ? numbers.cosine.toFixed(4) : undefined;
  const largest = typeof numbers?.max_abs === "number" ? numbers.max_abs.toPrecision(3) : undefined;
  if (cosine !== undefined && largest !== undefined)
    return vscode.l10n.t("cosine {0}, largest difference {1}", cosine, largest);
  if (cosine !== undefined) return vscode.l10n.t("cosine {0}", cosine);
  return largest === undefined ? "" : vscode.l10n.t("largest difference {0}", largest);
}

/** What differs first up to the line at which the program stands, and what a click there does. */
export function differsFirst(op: ComparedOp, line: number): string {
  const row = leading(op);
  const numbers = row === undefined ? "" : numbersOf(row);
  const text =
    op.line === line
      ? vscode.l10n.t("differs first, {0}: Compare", numbers)
      : vscode.l10n.t("line {0} differs first: Travel", op.line);
  return `$(error) ${text}`;
}

/** `2 of 12 tensors differ` */
export function summary({ rows }: ComparedRows): string {
  if (rows.length === 0) return vscode.l10n.t("No op has been executed yet.");
  const compared = rows.filter(({ verdict }) => verdict === "pass" || verdict === "fail").length;
  const verdict = comparedText(compared, rows.filter(({ verdict }) => verdict === "fail").length);
  const others = rows.length - compared;
  return others > 0 ? vscode.l10n.t("{0}; {1} not compared", verdict, others) : verdict;
}

function comparedText(compared: number, failed: number): string {
  if (failed > 0) return vscode.l10n.t("{0} of {1} tensors differ", failed, compared);
  return compared === 1 ? vscode.l10n.t("1 tensor as expected") : vscode.l10n.t("{0} tensors as expected", compared);
}
