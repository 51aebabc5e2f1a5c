/** Commands of the views, in the order of package.json. */
export const VIEW_COMMANDS = {
  memory: "tdb.showChipMemory",
  graph: "tdb.showGraph",
  timeline: "tdb.showTimeline",
  travel: "tdb.compare.travelHere",
  onlyFailed: "tdb.compare.showOnlyFailed",
  all: "tdb.compare.showAll",
  culprit: "tdb.compare.goToFirstCulprit",
  refresh: "tdb.compare.refresh",
} as const;

/** The tree in the Debug side bar, and what menus ask about it. */
export const COMPARE_VIEW = "tdb.compare";
export const COMPARE_CONTEXT = { onlyFailed: "tdb.compare.onlyFailed", culprit: "tdb.compare.hasCulprit" } as const;
