/** Names shared with package.json. */
export const DEBUG_TYPE = "tdb";
export const LANGUAGES = { mlir: "mlir", asm: "tdb-asm" } as const;
export const COMMANDS = {
  debug: "tdb.debugModel",
  pick: "tdb.pickModel",
  viewTensor: "tdb.viewTensor",
  open: "tdb.openModel",
  sample: "tdb.debugSample",
} as const;
/** The time slider, and the editor of .bmodel files. */
export const VIEWS = { time: "tdb.time", model: "tdb.bmodel" } as const;
export const SETTINGS = {
  section: "tdb.adapter",
  command: "command",
  logDirectory: "logDirectory",
  language: "tdb.languageServer",
  enabled: "enabled",
} as const;
