import * as vscode from "vscode";
import { chooseProgram, programOfActiveTab } from "../configuration/models";
import { textOf } from "../protocol/errors";
import type { CurrentSession } from "../sessions/current";
import type { Lease, ProgramPool } from "./pool";
import { sameModel, sessionProgram, type ModelReference, type Program } from "./program";

/** The program that the views of the model show: the current session's, or else a model that was chosen to look at. */
export class CurrentProgram implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Program | undefined>();
  /** Another program, or none any more. */
  readonly onDidChange = this.changed.event;
  /** The program has come to rest, or its memory has been edited. */
  readonly onDidStop: vscode.Event<unknown>;
  private readonly disposables: { dispose(): unknown }[];
  private readonly users = new Set<object>();
  private ofSession: Program | undefined;
  private lease: Lease | undefined;
  /** What was shown last, to be shown again after its session. */
  private last: ModelReference | undefined;

  constructor(
    sessions: CurrentSession,
    private readonly pool: ProgramPool,
  ) {
    this.onDidStop = sessions.onDidStop;
    this.disposables = [
      this.changed,
      sessions.onDidChange((session) => {
        this.ofSession = session && sessionProgram(session);
        if (session !== undefined) this.giveBack();
        this.last = this.ofSession?.model ?? this.last;
        this.changed.fire(this.current);
      }),
      pool.onDidEnd((program) => {
        if (program !== this.lease?.program) return;
        this.giveBack();
        this.changed.fire(this.current);
      }),
      pool.onDidChange((program) => (program === this.lease?.program ? this.renew(this.lease) : undefined)),
    ];
  }

  get current(): Program | undefined {
    return this.ofSession ?? this.lease?.program;
  }

  dispose(): void {
    this.giveBack();
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** There is a program for a view to show: this model, the one that is current, or one that the user chooses. */
  async open(user: object, model?: ModelReference): Promise<boolean> {
    if (this.current !== undefined && (model === undefined || sameModel(this.current.model, model))) {
      this.users.add(user);
      return true;
    }
    if (this.ofSession !== undefined) {
      const text = vscode.l10n.t("TDB: the views show {0} while it is being debugged.", this.ofSession.name);
      void vscode.window.showInformationMessage(text);
      this.users.add(user);
      return true;
    }
    const wanted = model ?? (await this.choose());
    if (wanted === undefined) return false;
    const lease = await this.load(wanted);
    if (lease === undefined) return false;
    if (this.current?.session !== undefined)
      lease.release(); // a session has begun while the model was loaded
    else {
      this.giveBack();
      this.lease = lease;
      this.last = wanted;
      this.changed.fire(lease.program);
    }
    this.users.add(user);
    return true;
  }

  /** A view is closed; with the last one nobody looks at the model any more. */
  close(user: object): void {
    this.users.delete(user);
    if (this.users.size > 0 || this.lease === undefined) return;
    this.giveBack();
    this.changed.fire(this.current);
  }

  /** The model has been compiled anew. What was shown stays where the new one cannot be read. */
  private async renew(old: Lease): Promise<void> {
    const { model } = old.program;
    const lease = model && (await this.load(model));
    if (lease === undefined) return;
    if (this.lease !== old || this.ofSession !== undefined) {
      lease.release();
      return;
    }
    this.giveBack();
    this.lease = lease;
    this.changed.fire(this.current);
  }

  private giveBack(): void {
    this.lease?.release();
    this.lease = undefined;
  }

  /** The model of the active tab, the one shown last, or one that the user chooses. */
  async choose(): Promise<ModelReference | undefined> {
    const shown = await programOfActiveTab();
    if (shown === undefined && this.last !== undefined) return this.last;
    const program = shown ?? (await chooseProgram(vscode.l10n.t("The compiled model to look at")));
    return program === undefined ? undefined : { program };
  }

  private async load(model: ModelReference): Promise<Lease | undefined> {
    const options = { location: vscode.ProgressLocation.Window, title: vscode.l10n.t("TDB: Reading the model") };
    try {
      return await vscode.window.withProgress(options, () => this.pool.acquire(model));
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
      return undefined;
    }
  }
}
