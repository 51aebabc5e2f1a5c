/** Names shared with package.json. */
export const DEBUG_TYPE = "tdb";
export const LANGUAGES = { mlir: "mlir", asm: "tdb-asm" } as const;
export const COMMANDS = { debug: "tdb.debugModel", pick: "tdb.pickModel", viewTensor: "tdb.viewTensor" } as const;
export const SETTINGS = {
  section: "tdb.adapter",
  command: "command",
  logDirectory: "logDirectory",
  language: "tdb.languageServer",
  enabled: "enabled",
} as const;
