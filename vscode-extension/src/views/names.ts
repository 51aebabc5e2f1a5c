/** Commands of the views, in the order of package.json. */
export const VIEW_COMMANDS = {
  memory: "tdb.showChipMemory",
} as const;
