/** The text that is shown of an error: its message, or what else was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
/** The last line that is not empty, or "". */
export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}
