import * as vscode from "vscode";
import type { Installation } from "../adapter/installation";
import { notFound } from "../adapter/words";
import { BackgroundProgram } from "./background";
import { keyOf, type ModelReference, type Program } from "./program";

/** A model that somebody looks at. Give it back when that is over: with the last one, its process ends. */
export interface Lease {
  readonly program: Program;
  release(): void;
}

/** How long a model stays loaded after the last look: the next click is often about the same one. */
const LINGER_MILLISECONDS = 5_000;

interface Entry {
  readonly loading: Promise<BackgroundProgram>;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

/** Loads models that are not being debugged, each once however many look at it. */
export class ProgramPool implements vscode.Disposable {
  private readonly entries = new Map<string, Entry>();
  private readonly ended = new vscode.EventEmitter<Program>();
  /** A model cannot be asked any more: its adapter has ended by itself. */
  readonly onDidEnd = this.ended.event;

  constructor(private readonly load: (model: ModelReference, onEnd: () => void) => Promise<BackgroundProgram>) {}

  /** Rejects with what speaks against the model, or where there is no debugger. */
  async acquire(model: ModelReference): Promise<Lease> {
    const key = keyOf(model);
    const entry = this.entries.get(key) ?? this.start(key, model);
    entry.users++;
    clearTimeout(entry.timer);
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      entry.users--;
      if (entry.users > 0) return;
      entry.timer = setTimeout(() => {
        this.forget(key, entry);
        end(entry);
      }, LINGER_MILLISECONDS);
    };
    try {
      return { program: await entry.loading, release };
    } catch (error) {
      isHeld = false;
      this.forget(key, entry);
      throw error;
    }
  }

  dispose(): void {
    for (const entry of this.entries.values()) {
      clearTimeout(entry.timer);
      end(entry);
    }
    this.entries.clear();
    this.ended.dispose();
  }

  private start(key: string, model: ModelReference): Entry {
    const entry: Entry = {
      loading: this.load(model, () => {
        clearTimeout(entry.timer);
        this.forget(key, entry);
        void entry.loading.then(
          (program) => {
            this.ended.fire(program);
          },
          () => undefined,
        );
      }),
      users: 0,
      timer: undefined,
    };
    this.entries.set(key, entry);
    return entry;
  }

  private forget(key: string, entry: Entry): void {
    if (this.entries.get(key) === entry) this.entries.delete(key);
  }
}

function end({ loading }: Entry): void {
  void loading.then(
    (program) => {
      program.dispose();
    },
    () => undefined,
  );
}

/** There is nothing that could read a model; the user can set it up. */
export class NoDebugger extends Error {}

/** Load models with the debugger that a session of them would use. */
export function backgroundPool(installation: Installation): ProgramPool {
  return new ProgramPool(async (model, onEnd) => {
    // A workspace can choose the interpreter: looking must not start a program of an untrusted one.
    if (!vscode.workspace.isTrusted)
      throw new Error(vscode.l10n.t("Trust this workspace to see what is in the model."));
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(model.program))?.uri;
    const search = await installation.search(folder);
    if (search.found === undefined) throw new NoDebugger(notFound(search, installation.version));
    return BackgroundProgram.load(search.found.command, model, onEnd);
  });
}
