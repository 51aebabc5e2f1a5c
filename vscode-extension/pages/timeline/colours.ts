/** The colours of the timeline, of the editor's theme. */
import { hash } from "../shared/hash";

/** Colours of charts that themes have, `--vscode-charts-…`. */
const CHART_COLOURS = ["blue", "green", "orange", "purple", "yellow", "red"] as const;
/** For themes without such a colour. */
const FALLBACK = { text: "#888", ground: "#fff", now: "#f00" } as const;

export interface Colours {
  readonly text: string;
  readonly faint: string;
  readonly ground: string;
  readonly focus: string;
  readonly now: string;
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
    palette: CHART_COLOURS.map((name) => colour(`charts-${name}`, text)),
  };
}

/** The colour of an op or command: that of the first word of its name. */
export function colourOf(name: string, { palette, text }: Colours): string {
  return palette[hash(name.split(" ")[0] ?? "") % palette.length] ?? text;
}
