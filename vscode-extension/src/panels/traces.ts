/** The trace points of the Trace view: the log points of final.mlir, and those that the user has typed. */
import { basename, dirname } from "node:path";
import * as vscode from "vscode";
import { COMMANDS, INTERNAL } from "../contributions";
import type { ToModelPage, TracePoint } from "../protocol/messages";
import type { Source } from "../programs/program";
import { uriOf } from "../programs/uri";
import type { CurrentSession } from "../sessions/current";

/** The page that shows them. */
interface TracePage {
  bringAside(): Promise<void>;
  send(message: ToModelPage): void;
}

export function registerTraces(traces: Traces): { dispose(): void }[] {
  return [
    traces,
    vscode.commands.registerCommand(COMMANDS.trace, () => traces.ask()),
    vscode.commands.registerCommand(INTERNAL.dropTrace, (key: string) => {
      traces.drop(key);
    }),
  ];
}

/** Trace points of the enabled log points in files with these paths; a file of several is named with its folder. */
export function logPoints(breakpoints: readonly vscode.Breakpoint[], files: readonly string[]): TracePoint[] {
  return breakpoints.flatMap((breakpoint) => {
    if (!(breakpoint instanceof vscode.SourceBreakpoint) || !breakpoint.enabled) return [];
    const { id, logMessage: message, condition, location } = breakpoint;
    if (message === undefined || message === "" || !files.includes(location.uri.path)) return [];
    const line = String(location.range.start.line + 1);
    const { path } = location.uri;
    const place = `${files.length > 1 ? `${basename(dirname(path))}/${basename(path)}` : ""}:${line}`;
    const wanted = condition === "" ? undefined : condition;
    return [
      {
        key: id,
        title: `${place} ${message}${wanted === undefined ? "" : ` if ${wanted}`}`,
        arguments: { message, place, ...(wanted !== undefined && { condition: wanted }) },
        isRemovable: false,
      },
    ];
  });
}

export class Traces {
  private typed: readonly TracePoint[] = [];
  private count = 0;
  /** The log points of the session, as the page has them. */
  private logged: readonly TracePoint[] = [];
  /** Every one that was ever shown, to tell those that are added or changed from those that have been verified. */
  private known = new Set<string>();
  private chosen: string | undefined;
  private last = "";
  private readonly disposables: vscode.Disposable[];

  constructor(
    private readonly sessions: CurrentSession,
    private readonly page: TracePage,
  ) {
    this.disposables = [
      vscode.debug.onDidChangeBreakpoints(() => this.renew(true)),
      // Log points that were there before the session are shown once somebody opens the view.
      sessions.onDidChange(() => this.renew(false)),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Ask for a line as `trace` of the console takes it, and show its table. */
  async ask(): Promise<void> {
    const text = await vscode.window.showInputBox({
      title: vscode.l10n.t("Trace"),
      prompt: vscode.l10n.t(
        "EXPRESSION, ... at PLACE if CONDITION, such as max(out[0]), min(out[0]) at tpu.Conv2D if max(out[0]) > 100",
      ),
      value: this.last,
    });
    if (text === undefined || text.trim() === "") return;
    this.last = text.trim();
    const same = this.typed.find(({ title }) => title === this.last);
    const point = same ?? {
      key: `typed ${String(++this.count)}`,
      title: this.last,
      arguments: { text: this.last },
      isRemovable: true,
    };
    if (same === undefined) this.typed = [...this.typed, point];
    await this.bring(point.key);
  }

  drop(key: string): void {
    this.typed = this.typed.filter((point) => point.key !== key);
    this.tellPage();
  }

  tellPage(): void {
    this.page.send({ type: "traces", points: [...this.logged, ...this.typed], chosen: this.chosen });
    this.chosen = undefined; // from here on it is the page's choice
  }

  private async renew(isShown: boolean): Promise<void> {
    const session = this.sessions.current;
    const points = session === undefined ? [] : logPoints(vscode.debug.breakpoints, await filesOf(session));
    if (session !== this.sessions.current) return;
    const added = points.filter((point) => !this.known.has(JSON.stringify(point)));
    const isSame = added.length === 0 && points.length === this.logged.length;
    this.logged = points;
    this.known = new Set(points.map((point) => JSON.stringify(point)));
    const latest = added.at(-1);
    if (isShown && latest !== undefined) await this.bring(latest.key);
    else if (!isSame) this.tellPage();
  }

  private async bring(key: string): Promise<void> {
    this.chosen = key;
    await this.page.bringAside();
    this.tellPage();
  }
}

/** The paths of the files final.mlir of a session, as in URIs; none where the model has none, or nothing is loaded yet. */
async function filesOf(session: vscode.DebugSession): Promise<string[]> {
  try {
    const { sources } = (await session.customRequest("loadedSources")) as { sources: Source[] };
    // Only paths are compared: VS Code makes URIs of them in a window that is connected to another machine.
    return sources.flatMap(({ path }) => (path?.endsWith(".mlir") === true ? [uriOf(path).path] : []));
  } catch {
    return [];
  }
}
