import { leading, opsOf, type ComparedRows, type Verdict } from "../compare/results";
import { numbersOf } from "../compare/words";
import type { Results } from "../protocol/generated";
import type { RequestName } from "../protocol/requests";
import type { AdapterMessage } from "../sessions/hub";

/** Verdict of an op, as the language server receives it with `tdb/verdicts`. */
export interface OpVerdict {
  readonly line: number;
  readonly verdict: Verdict;
  readonly text: string;
}

/** The results if a message from the adapter brings some. */
export function resultsIn({ type, command, success, body }: AdapterMessage): Results | undefined {
  const isAnswer = type === "response" && success === true && command === ("tdb/results" satisfies RequestName);
  return isAnswer ? (body as Results) : undefined;
}

/** By op, of its results; the outputs of the net belong to none. Of a wrong one, what differs and whose fault it is. */
export function verdictsOf({ rows, first }: ComparedRows): OpVerdict[] {
  return opsOf({ rows: rows.filter(({ role }) => role !== "operand"), first })
    .filter(({ line }) => line > 0)
    .map((op) => {
      const row = op.verdict === "fail" ? leading(op) : undefined;
      const parts = row === undefined ? [] : [numbersOf(row), row.blame?.text ?? ""].filter(Boolean);
      return { line: op.line, verdict: op.verdict, text: row === undefined ? "" : `${row.name}: ${parts.join("; ")}` };
    });
}
