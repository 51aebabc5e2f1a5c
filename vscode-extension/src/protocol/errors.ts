/** The text that is shown of an error: its message, or what else was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
