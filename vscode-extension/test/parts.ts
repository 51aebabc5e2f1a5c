/** Classes of VS Code that only hold what they are given. */
export const parts = {
  TreeItem: class {
    constructor(
      readonly label: string,
      readonly collapsibleState?: number,
    ) {}
  },
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  ThemeIcon: class {
    constructor(readonly id: string) {}
  },
  ThemeColor: class {
    constructor(readonly id: string) {}
  },
  Position: class {
    constructor(
      readonly line: number,
      readonly character: number,
    ) {}
  },
  Range: class {
    constructor(
      readonly start: unknown,
      readonly end: unknown,
    ) {}
  },
  CodeLens: class {
    constructor(
      readonly range: unknown,
      readonly command: unknown,
    ) {}
  },
  InlineValueText: class {
    constructor(
      readonly range: unknown,
      readonly text: string,
    ) {}
  },
};
