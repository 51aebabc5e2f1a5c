/** What is told of an error: its message; whatever else was thrown as text. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
