/** What a model consists of, kept while a view shows it: asking needs the model to be loaded. */
import * as vscode from "vscode";
import type { ModelContents } from "../protocol/generated";
import type { CurrentSession } from "../sessions/current";
import { request } from "../sessions/requests";
import type { Lease, ProgramPool } from "../programs/pool";
import { keyOf, sameModel, sessionProgram, type ModelReference, type Program } from "../programs/program";

export class Contents implements vscode.Disposable {
  private readonly known = new Map<string, Promise<ModelContents>>();

  /** A model has been compiled anew, and what is known of it is forgotten. */
  readonly onDidChange: vscode.Event<Program>;
  private readonly changed = new vscode.EventEmitter<Program>();
  private readonly watched: vscode.Disposable;

  constructor(
    private readonly pool: ProgramPool,
    private readonly sessions: CurrentSession,
  ) {
    this.onDidChange = this.changed.event;
    this.watched = pool.onDidChange((program) => {
      this.forget();
      this.changed.fire(program);
    });
  }

  dispose(): void {
    this.watched.dispose();
    this.changed.dispose();
  }

  /** Ask again the next time. */
  forget(): void {
    this.known.clear();
  }

  of(model: ModelReference): Promise<ModelContents> {
    const key = keyOf(model);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const asked = this.ask(model);
    this.known.set(key, asked);
    // What cannot be read may be able to after a repair.
    asked.catch(() => this.known.delete(key));
    return asked;
  }

  /** The session that debugs a model, or the model itself, loaded. */
  async program(model: ModelReference): Promise<Lease> {
    const session = this.sessions.current;
    if (session !== undefined) {
      const program = sessionProgram(session);
      if (sameModel(program.model, model)) return { program, release: () => undefined };
    }
    return this.pool.acquire(model);
  }

  private async ask(model: ModelReference): Promise<ModelContents> {
    const lease = await this.program(model);
    try {
      return await request(lease.program, "tdb/model");
    } finally {
      lease.release();
    }
  }
}
