/** The colours of the timeline, of the editor's theme: those of the opcodes that take most of the time. */
import type { Timeline } from "./model";

/** Our own colours of graphics, `--chart-…`. */
const CHART_COLOURS = ["blue", "orange", "green", "purple", "red", "yellow"] as const;
/** For themes without such a colour. */
const FALLBACK = { text: "#888", ground: "#fff", now: "#f00" } as const;

export interface Colours {
  readonly text: string;
  readonly faint: string;
  readonly ground: string;
  readonly focus: string;
  readonly now: string;
  readonly found: string;
  readonly palette: readonly string[];
}

export function themeColours(): Colours {
  const style = getComputedStyle(document.body);
  const colour = (name: string, otherwise: string) => style.getPropertyValue(`--vscode-${name}`) || otherwise;
  const text = colour("editor-foreground", FALLBACK.text);
  return {
    text,
    faint: colour("descriptionForeground", text),
    ground: colour("editor-background", FALLBACK.ground),
    focus: colour("focusBorder", text),
    now: colour("errorForeground", FALLBACK.now),
    found: colour("editorWarning-foreground", text),
    palette: CHART_COLOURS.map((name) => style.getPropertyValue(`--chart-${name}`) || text),
  };
}

/** Kinds of ops, the one that takes most time first, as many as there are colours. */
export function kindsByTime({ tracks }: Timeline): string[] {
  const times = new Map<string, number>();
  for (const { ops } of tracks)
    for (const { kind, start, stop } of ops) times.set(kind, (times.get(kind) ?? 0) + stop - start);
  return [...times]
    .sort(([, one], [, other]) => other - one)
    .slice(0, CHART_COLOURS.length)
    .map(([kind]) => kind);
}

/** The colour of an op or a command by its kind; of all other kinds the faint one. */
export function colourOf(kind: string, kinds: readonly string[], { palette, faint }: Colours): string {
  return palette[kinds.indexOf(kind)] ?? faint;
}
