import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { SETTINGS } from "../contributions";
import { log, showWithLog } from "../log";
import { ask } from "./ask";
import { finishedEnvironment } from "./environment";
import { findAdapter, type AdapterCommand, type Found, type Search } from "./find";
import { interpreterOf, isExecutable, thisMachine } from "./machine";
import { selectedInterpreter } from "./selected";
import { foundName, rejectedLine } from "./words";

/** Names that people give to the environment of a project. */
const ENVIRONMENTS = [".venv", "venv"];

const EXECUTABLE = process.platform === "win32" ? "tdb-dap.exe" : "tdb-dap";

/** As much of an installation as views need: something may have changed, and a debugger can be installed. */
export type SetUp = Pick<Installation, "onDidChange" | "setUp">;

/** Which debugger is used, and what can be done where there is none. */
export class Installation implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** The next search may find another debugger than the last: whatever could not start may try again. */
  readonly onDidChange = this.changed.event;

  private readonly found = new vscode.EventEmitter<Found | undefined>();
  /** What a search has found. */
  readonly onDidSearch = this.found.event;

  private readonly reported = new Set<string>();
  /** Where the last search found nothing: folders differ in their settings and environments. */
  private readonly failed = new Set<string>();
  /** What `locate` found for the session that is about to start. */
  private located: { readonly scope: string; readonly search: Search } | undefined;

  /** The extension's own version. */
  readonly version: string;
  private readonly subscriptions: { dispose(): unknown }[];

  constructor(private readonly context: vscode.ExtensionContext) {
    this.version = (context.extension.packageJSON as { version: string }).version;
    this.subscriptions = [
      this.changed,
      this.found,
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration(SETTINGS.section)) this.changed.fire();
      }),
      this.changed.event(() => {
        this.forgetLocated();
      }),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /** The environment that the extension makes on demand. */
  get environment(): string {
    return join(this.context.globalStorageUri.fsPath, "environment");
  }

  /** What pip is asked for: the package that came with the extension, or the clone that it is in; no index is asked. */
  get package(): string {
    const folder = join(this.context.extensionPath, "bundled", "wheel");
    const wheel = existsSync(folder) ? readdirSync(folder).find((name) => name.endsWith(".whl")) : undefined;
    if (wheel !== undefined) return join(folder, wheel);
    const clone = dirname(this.context.extensionPath);
    if (existsSync(join(clone, "pyproject.toml"))) return clone;
    throw new Error(vscode.l10n.t("This extension does not contain the debugger; install its package again."));
  }

  async search(scope: vscode.Uri | undefined): Promise<Search> {
    const search = await findAdapter(await this.wishes(scope), thisMachine);
    const lines = search.rejected.map((place) => rejectedLine(place, this.version));
    log().debug([...lines, search.found ? foundName(search.found) : "no debugger found"].join("; "));
    this.reportOlder(search);
    this.found.fire(search.found);
    if (search.found === undefined) this.failed.add(keyOf(scope));
    else if (this.failed.delete(keyOf(scope))) this.changed.fire();
    return search;
  }

  /** What `locate` has just found for this scope, or else what is found now: Python is not started twice for one F5. */
  async searchToStart(scope: vscode.Uri | undefined): Promise<Search> {
    const { located } = this;
    this.located = undefined;
    return located?.scope === keyOf(scope) ? located.search : this.search(scope);
  }

  /** The adapter; where there is none, the user is asked once, and what is then installed or chosen is returned. */
  async locate(scope: vscode.Uri | undefined): Promise<AdapterCommand | undefined> {
    let search = await this.search(scope);
    if (search.found === undefined) {
      if (!(await ask(search, scope, this))) return undefined;
      this.changed.fire();
      search = await this.search(scope);
    }
    this.located = search.found && { scope: keyOf(scope), search };
    return search.found?.command;
  }

  /** What `locate` has found may not be what is found when the session starts. */
  forgetLocated(): void {
    this.located = undefined;
  }

  /** Let the user install or choose one, whatever is there. True when it was done. */
  async setUp(scope: vscode.Uri | undefined): Promise<boolean> {
    const isDone = await ask(undefined, scope, this);
    if (isDone) this.changed.fire();
    return isDone;
  }

  private async wishes(scope: vscode.Uri | undefined) {
    const settings = vscode.workspace.getConfiguration(SETTINGS.section, scope);
    // The workspace chooses these: nothing of an untrusted one is started.
    const { isTrusted } = vscode.workspace;
    const bundled = join(this.context.extensionPath, "bundled", "tdb-dap", EXECUTABLE);
    return {
      command: settings.get<string[]>(SETTINGS.command, []),
      interpreter: settings.get<string>(SETTINGS.interpreter, ""),
      workspace: isTrusted ? environmentsOf(scope) : [],
      selected: isTrusted ? await selectedInterpreter(scope) : undefined,
      private: finishedEnvironment(this.environment),
      bundled: isExecutable(bundled) ? bundled : undefined,
      version: this.version,
    };
  }

  /** A debugger that is passed over because of its age is a surprise to whoever installed it: said once. */
  private reportOlder({ found, rejected }: Search): void {
    if (found === undefined) return;
    for (const place of rejected.filter(({ reason, origin }) => reason === "older" && origin !== "private")) {
      const line = rejectedLine(place, this.version);
      if (this.reported.has(line)) continue;
      this.reported.add(line);
      const text = vscode.l10n.t("TDB: skipped {0}. Used instead: {1}.", line, foundName(found));
      void showWithLog(vscode.window.showInformationMessage, text, {});
    }
  }
}

const keyOf = (scope: vscode.Uri | undefined) => scope?.toString() ?? "";

/** Interpreters of the environments in the folder of a file, or in all folders of the workspace. */
function environmentsOf(scope: vscode.Uri | undefined): string[] {
  const folder = scope && vscode.workspace.getWorkspaceFolder(scope);
  const folders = folder ? [folder] : (vscode.workspace.workspaceFolders ?? []);
  return folders
    .filter(({ uri }) => uri.scheme === "file")
    .flatMap(({ uri }) => ENVIRONMENTS.map((name) => interpreterOf(join(uri.fsPath, name))))
    .filter(isExecutable);
}
