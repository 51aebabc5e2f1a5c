import * as vscode from "vscode";
import { DEBUG_TYPE, VIEWS } from "../contributions";
import { textOf } from "../protocol/errors";
import type { TimePoint } from "../protocol/generated";
import type { FromTimePage, ToTimePage } from "../protocol/messages";
import type { SessionHub } from "../sessions/hub";
import { request } from "../sessions/requests";
import { frame } from "./frame";

/** In the status bar: items of higher priority are further left. */
const STATUS_PRIORITY = 10;

/** The status bar's item, and the slider in the debug side bar: how many commands the active session has executed. */
export function registerTime(context: vscode.ExtensionContext, hub: SessionHub): vscode.Disposable[] {
  const item = vscode.window.createStatusBarItem(VIEWS.time, vscode.StatusBarAlignment.Left, STATUS_PRIORITY);
  item.name = vscode.l10n.t("TDB: Time");
  item.command = `${VIEWS.time}.focus`;
  const slider = new Slider(context.extensionUri);

  const look = async (session: vscode.DebugSession | undefined) => {
    const moment = session?.type === DEBUG_TYPE ? await ask(session) : undefined;
    if (session !== vscode.debug.activeDebugSession) return;
    slider.show(moment);
    if (moment === undefined) {
      item.hide();
      return;
    }
    const { ordinal, commands } = moment;
    item.text = `$(history) ${String(ordinal)}/${String(commands)}`;
    item.tooltip = vscode.l10n.t(
      "{0} of {1} commands executed. Select to travel to another command.",
      ordinal,
      commands,
    );
    item.accessibilityInformation = { label: item.tooltip };
    item.show();
  };
  return [
    vscode.Disposable.from(item),
    vscode.debug.onDidChangeActiveDebugSession(look),
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

  constructor(private readonly root: vscode.Uri) {}

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.root, "dist")] };
    view.webview.onDidReceiveMessage((message: FromTimePage) => void this.receive(message));
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.webview.html = frame(view.webview, this.root, "time", vscode.l10n.t("Time"));
  }

  show(moment: TimePoint | undefined): void {
    this.moment = moment;
    this.send(moment);
  }

  private send(moment: TimePoint | undefined): void {
    const message: ToTimePage = { type: "time", moment };
    void this.view?.webview.postMessage(message);
  }

  private async receive(message: FromTimePage): Promise<void> {
    const session = vscode.debug.activeDebugSession;
    if (message.type === "ready" || session?.type !== DEBUG_TYPE) {
      this.send(this.moment);
      return;
    }
    if (message.type === "look") {
      this.send((await ask(session, message.ordinal)) ?? this.moment);
      return;
    }
    try {
      await request(session, "tdb/travel", { ordinal: message.ordinal });
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
      this.send(this.moment);
    }
  }
}
