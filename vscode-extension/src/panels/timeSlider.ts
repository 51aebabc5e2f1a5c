import * as vscode from "vscode";
import { DEBUG_TYPE, VIEWS } from "../contributions";
import { textOf } from "../protocol/errors";
import type { TimeMark, TimePoint } from "../protocol/generated";
import type { FromTimePage, ToTimePage } from "../protocol/messages";
import type { SessionHub } from "../sessions/hub";
import { keepingFocus } from "../sessions/moment";
import { request } from "../sessions/requests";
import { Bookmarks } from "./bookmarks";
import { Page } from "./page";

/** In the status bar: items of higher priority are further left. */
const STATUS_PRIORITY = 10;
/** Comparing up to now is asked for at each stop as long as it takes no longer. */
const FAST_MILLISECONDS = 1000;

/** The status bar's item, and the slider in the debug side bar: how many commands the active session has executed. */
export function registerTime(context: vscode.ExtensionContext, hub: SessionHub): vscode.Disposable[] {
  const item = vscode.window.createStatusBarItem(VIEWS.time, vscode.StatusBarAlignment.Left, STATUS_PRIORITY);
  item.name = vscode.l10n.t("TDB: Time");
  item.command = `${VIEWS.time}.focus`;
  const slider = new Slider(context.extensionUri, new Bookmarks(context.workspaceState));

  const look = async (session: vscode.DebugSession | undefined) => {
    const moment = session?.type === DEBUG_TYPE ? await ask(session) : undefined;
    if (session !== vscode.debug.activeDebugSession) return;
    await slider.show(moment, session);
    if (moment === undefined) {
      item.hide();
      return;
    }
    const { ordinal, commands, launch } = moment;
    item.text = `$(history) ${String(ordinal)}/${String(commands)}`;
    const executed = vscode.l10n.t(
      "{0} of {1} commands executed. Select to travel to another command.",
      ordinal,
      commands,
    );
    item.tooltip = [launch, executed].filter(Boolean).join("\n");
    item.accessibilityInformation = { label: item.tooltip };
    item.show();
  };
  return [
    vscode.Disposable.from(item),
    vscode.debug.onDidChangeActiveDebugSession(look),
    hub.onEdited(look),
    vscode.debug.onDidTerminateDebugSession(() => look(vscode.debug.activeDebugSession)),
    hub.onStopped(look),
    vscode.window.registerWebviewViewProvider(VIEWS.time, slider),
  ];
}

/** Undefined while there is no program: before it is loaded, and after its end. */
async function ask(session: vscode.DebugSession, at?: number): Promise<TimePoint | undefined> {
  try {
    return await request(session, "tdb/time", { at });
  } catch {
    return undefined;
  }
}

class Slider implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private moment: TimePoint | undefined;
  private marks: readonly TimeMark[] = [];
  private comparesFast = true;
  private readonly page: Page<FromTimePage>;

  constructor(
    private readonly root: vscode.Uri,
    private readonly bookmarks: Bookmarks,
  ) {
    this.page = new Page(root, "time", vscode.l10n.t("Time"), (message: FromTimePage) => this.receive(message));
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = Page.options(this.root);
    view.onDidDispose(() => {
      this.view = undefined;
    });
    this.page.fill(view);
  }

  /** Of the active session; its marks follow. */
  async show(moment: TimePoint | undefined, session: vscode.DebugSession | undefined): Promise<void> {
    this.moment = moment;
    if (moment === undefined) {
      this.marks = [];
      this.comparesFast = true;
    }
    this.send(moment);
    if (moment === undefined || session === undefined || this.view?.visible !== true) return;
    this.marks = await this.find(session);
    if (this.moment === moment) this.send(moment);
  }

  /** Comparing replays the run; where that takes long, the ops that differ are those that were found before. */
  private async find(session: vscode.DebugSession): Promise<readonly TimeMark[]> {
    const start = Date.now();
    const compare = this.comparesFast;
    try {
      const { marks } = await request(session, "tdb/marks", { compare });
      if (compare) this.comparesFast = Date.now() - start < FAST_MILLISECONDS;
      return compare ? marks : [...marks, ...this.marks.filter(({ kind }) => kind === "failing")];
    } catch {
      return []; // it runs, or has ended
    }
  }

  private send(moment: TimePoint | undefined): void {
    const marks = [...this.marks, ...this.bookmarks.of(vscode.debug.activeDebugSession)];
    const message: ToTimePage = { type: "time", moment, marks };
    this.page.send(message);
  }

  private async receive(message: FromTimePage): Promise<void> {
    const session = vscode.debug.activeDebugSession;
    if (message.type === "ready" || session?.type !== DEBUG_TYPE) {
      await this.show(this.moment, session?.type === DEBUG_TYPE ? session : undefined);
      return;
    }
    if (message.type === "bookmark") {
      await this.bookmarks.toggle(session, message.ordinal);
      this.send(await ask(session, message.ordinal));
      return;
    }
    if (message.type === "look") {
      this.send((await ask(session, message.ordinal)) ?? this.moment);
      return;
    }
    try {
      const focus = () => this.view?.show();
      await keepingFocus(focus, () => request(session, "tdb/travel", { ordinal: message.ordinal }));
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
      this.send(this.moment);
    }
  }
}
