/** Names that package.json declares and the code uses; test/manifest.test.ts compares the two. */
export const DEBUG_TYPE = "tdb";
export const LANGUAGES = { mlir: "mlir", asm: "tdb-asm" } as const;

/** Recordings are no text; as a language they have an icon in the file explorer. */
export const RECORDING_LANGUAGE = "tdb-recording";

/** Tasks of this type record a program. */
export const TASK_TYPE = "tdb";

/** In the order of package.json. */
export const COMMANDS = {
  debug: "tdb.debugModel",
  pick: "tdb.pickModel",
  viewTensor: "tdb.viewTensor",
  history: "tdb.showHistory",
  writer: "tdb.whoWrote",
  bytes: "tdb.showBytes",
  attributes: "tdb.toggleAttributes",
  open: "tdb.openModel",
  sample: "tdb.debugSample",
  diagnostics: "tdb.showDiagnostics",
  setUp: "tdb.setUp",
  refreshModels: "tdb.models.refresh",
  debugNode: "tdb.models.debug",
  nodeListing: "tdb.models.showDisassembly",
  memory: "tdb.showChipMemory",
  graph: "tdb.showGraph",
  timeline: "tdb.showTimeline",
  answer: "tdb.askModel",
  trace: "tdb.trace",
  travel: "tdb.compare.travelHere",
  onlyFailed: "tdb.compare.showOnlyFailed",
  all: "tdb.compare.showAll",
  culprit: "tdb.compare.goToFirstCulprit",
  refresh: "tdb.compare.refresh",
  table: "tdb.compare.showTable",
  reference: "tdb.compare.chooseReference",
  input: "tdb.compare.chooseInput",
  travelFinding: "tdb.findings.travelHere",
  debugRecording: "tdb.debugRecording",
  recordAndDebug: "tdb.recordAndDebug",
  launch: "tdb.goToLaunch",
  letAgentLook: "tdb.letAgentLook",
} as const;

/** The provider of servers for agents. */
export const AGENT_PROVIDER = "tdb.agent";

/** Commands of rows and pages, which no menu has. */
export const INTERNAL = {
  follow: "tdb.follow",
  ask: "tdb.ask",
  floatModel: "tdb.chooseFloatModel",
  dropTrace: "tdb.dropTrace",
  travelTo: "tdb.travelTo",
} as const;

/** The container in the activity bar. */
export const CONTAINER = "tdb";

/** Its views, in the order of package.json. */
export const VIEWS = {
  models: "tdb.models",
  time: "tdb.time",
  compare: "tdb.compare",
  findings: "tdb.findings",
  memory: "tdb.memory",
} as const;

/** The editors of .bmodel files, and of recorded runs. */
export const MODEL_EDITOR = "tdb.bmodel";
export const RECORDING_EDITOR = "tdb.recording";

/** Context keys of the `when` clauses of menus. */
export const CONTEXT = {
  onlyFailed: "tdb.compare.onlyFailed",
  culprit: "tdb.compare.hasCulprit",
  missing: "tdb.compare.missing",
} as const;

export const SETTINGS = {
  section: "tdb.adapter",
  command: "command",
  interpreter: "interpreter",
  logDirectory: "logDirectory",
  language: "tdb.languageServer",
  enabled: "enabled",
  compare: "tdb.compare",
  open: "openOnDifference",
} as const;
