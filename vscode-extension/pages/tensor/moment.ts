/** Names that are tied to a moment (`in[0]@op5`, `%16@202:40`), as the adapter gives them to variables. */

const MOMENT = /"[^"]*"|'[^']*'|@(?:op)?\d+(?::\d+)?(?!\w)/g;

/** The expression as it is meant wherever the program stands: `in[0]` for `in[0]@op5`. */
export function withoutMoment(expression: string): string {
  return expression.replace(MOMENT, (found) => (found.startsWith("@") ? "" : found));
}
