/** Findings of sanitizers, as far as the editor shows them. */
import type { Finding } from "../protocol/generated";
import type { AdapterMessage } from "../sessions/hub";

/** The findings that can be shown, by file; `line` of a finding counts from 1 in either case. */
export function byFile(findings: readonly Finding[]): Map<string, Finding[]> {
  const files = new Map<string, Finding[]>();
  for (const finding of findings) {
    if (finding.path === undefined || finding.command.line < 1) continue;
    const known = files.get(finding.path);
    if (known === undefined) files.set(finding.path, [finding]);
    else known.push(finding);
  }
  return files;
}

/** Whether a message from the adapter may have brought new findings: a stop, or an answer of the console. */
export function mayBringFindings({ type, event, command }: AdapterMessage): boolean {
  return (type === "event" && event === "stopped") || (type === "response" && command === "evaluate");
}

/** A problem of a line, as far as two of them may be the same. */
interface LineProblem {
  readonly message: string;
  readonly range: { readonly start: { readonly line: number } };
}

/** The problems of both, those that are in both once. */
export function merged<P extends LineProblem>(server: readonly P[], session: readonly P[]): P[] {
  const key = ({ message, range }: P) => `${String(range.start.line)} ${message}`;
  const known = new Set(server.map(key));
  return [...server, ...session.filter((problem) => !known.has(key(problem)))];
}

/** What is wrong with a model before it runs. */
export interface FirstFinding {
  readonly message: string;
  /** Of the text, counted from 1. */
  readonly line: number;
  /** Of the command. */
  readonly ordinal: number;
}

/** As VS Code numbers severities. */
const ERROR = 0;

/** The earliest error among the language server's problems that is about a command. */
export function firstFinding(
  problems: readonly (LineProblem & { readonly severity: number; readonly data?: unknown })[],
): FirstFinding | undefined {
  const timed = problems.flatMap(({ message, range, severity, data }) => {
    const ordinal = (data as { readonly ordinal?: unknown } | null | undefined)?.ordinal;
    return severity === ERROR && typeof ordinal === "number" ? [{ message, line: range.start.line + 1, ordinal }] : [];
  });
  return timed.sort((one, other) => one.ordinal - other.ordinal)[0];
}
