/** Notifications to the language server beyond its protocol; see docs/editor.md. */
export const NOTIFICATIONS = { program: "tdb/program", verdicts: "tdb/verdicts", current: "tdb/current" } as const;
