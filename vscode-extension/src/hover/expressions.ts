/** Expressions of the debugger for the text under the mouse. */

export interface ValueExpression {
  readonly start: number;
  readonly end: number;
  readonly expression: string;
}

/** `%173`, `%arg0`, `%11#0` (one of several results); `%11:5` declares five of them. */
const VALUE = /%[\w$.-]+(?:#\d+)?/g;
const LOCATION = /#loc\d*\b/g;
/** Something in memory, as the disassembly prints it: `%R0.64`, `%R1.L6`, `%G40960`, `%S1024`. */
const ADDRESS = /%[RGSL](?:\.?L?\d)+/g;

/**
 * The value or location at `column` of a line of final.mlir.
 *
 * An alias (`#loc12`) means something in its file only, so it is replaced by the name it stands for;
 * `definitionOf` gives the text after `#loc12 = `.
 */
export function mlirExpressionAt(
  line: string,
  column: number,
  definitionOf: (alias: string) => string | undefined,
): ValueExpression | undefined {
  const value = matchAt(VALUE, line, column);
  if (value !== undefined) return { ...value, expression: value.text };
  const location = matchAt(LOCATION, line, column);
  const name = location && /^loc\(("(?:[^"\\]|\\.)*")/.exec(definitionOf(location.text) ?? "")?.[1];
  return name === undefined || location === undefined ? undefined : { ...location, expression: `#loc(${name})` };
}

/**
 * The operand or result at `column` of a line of the disassembly.
 *
 * Its type and layout are those of the line's command; the adapter receives the line with the expression.
 */
export function asmExpressionAt(line: string, column: number): ValueExpression | undefined {
  const address = matchAt(ADDRESS, line, column);
  return address && { ...address, expression: address.text };
}

interface Match {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function matchAt(pattern: RegExp, line: string, column: number): Match | undefined {
  for (const match of line.matchAll(pattern)) {
    const end = match.index + match[0].length;
    if (match.index <= column && column < end) return { start: match.index, end, text: match[0] };
  }
  return undefined;
}
