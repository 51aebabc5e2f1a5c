/** Names that package.json declares and the code uses; test/manifest.test.ts compares the two. */
export const DEBUG_TYPE = "tdb";
export const LANGUAGES = { mlir: "mlir", asm: "tdb-asm" } as const;

/** In the order of package.json. */
export const COMMANDS = {
  debug: "tdb.debugModel",
  pick: "tdb.pickModel",
  viewTensor: "tdb.viewTensor",
  open: "tdb.openModel",
  sample: "tdb.debugSample",
  diagnostics: "tdb.showDiagnostics",
  setUp: "tdb.setUp",
  memory: "tdb.showChipMemory",
  graph: "tdb.showGraph",
  timeline: "tdb.showTimeline",
  travel: "tdb.compare.travelHere",
  onlyFailed: "tdb.compare.showOnlyFailed",
  all: "tdb.compare.showAll",
  culprit: "tdb.compare.goToFirstCulprit",
  refresh: "tdb.compare.refresh",
  table: "tdb.compare.showTable",
  reference: "tdb.compare.chooseReference",
} as const;

/** Views of the Debug side bar: the time slider, and the tree of what has been compared. */
export const VIEWS = { time: "tdb.time", compare: "tdb.compare" } as const;

/** The editor of .bmodel files. */
export const MODEL_EDITOR = "tdb.bmodel";

/** Context keys of the `when` clauses of menus. */
export const CONTEXT = { onlyFailed: "tdb.compare.onlyFailed", culprit: "tdb.compare.hasCulprit" } as const;

export const SETTINGS = {
  section: "tdb.adapter",
  command: "command",
  interpreter: "interpreter",
  logDirectory: "logDirectory",
  language: "tdb.languageServer",
  enabled: "enabled",
} as const;
