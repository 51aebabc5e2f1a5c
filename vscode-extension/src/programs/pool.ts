import { basename, dirname } from "node:path";
import * as vscode from "vscode";
import { isBmodel, isRecording } from "../configuration/program";
import type { BackgroundProgram } from "./background";
import { uriOf } from "./uri";
import { keyOf, type ModelReference, type Program } from "./program";

/** A model that somebody looks at. Give it back when that is over: with the last one, its process ends. */
export interface Lease {
  readonly program: Program;
  release(): void;
}

/** How long a model stays loaded after the last look: the next click is often about the same one. */
const LINGER_MILLISECONDS = 5_000;

/** A compiler writes its files one after the other: how long there is no further one before they are read. */
const SETTLED_MILLISECONDS = 1_000;

interface Entry {
  readonly loading: Promise<BackgroundProgram>;
  readonly watcher: { dispose(): unknown };
  users: number;
  /** Until the process ends that nobody uses. */
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Until the files that are being written are complete. */
  settling: ReturnType<typeof setTimeout> | undefined;
}

/** Reports each change of a model's files; `isThere`: the file has been written, not removed. */
type Watch = (model: ModelReference, changed: (isThere: boolean) => void) => { dispose(): unknown };

/** Loads models that are not being debugged, each once however many look at it. */
export class ProgramPool implements vscode.Disposable {
  /** What is given to who asks next. */
  private readonly entries = new Map<string, Entry>();
  /** These, and those that are out of date and still looked at. */
  private readonly live = new Set<Entry>();
  private readonly ended = new vscode.EventEmitter<Program>();
  private readonly changed = new vscode.EventEmitter<Program>();
  /** A model cannot be asked any more: its adapter has ended by itself. */
  readonly onDidEnd = this.ended.event;

  /** A model has been compiled anew: this program knows the old one; who acquires the model again gets the new one. */
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly load: (model: ModelReference, onEnd: () => void) => Promise<BackgroundProgram>,
    private readonly watch: Watch,
  ) {}

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
        this.end(entry);
      }, LINGER_MILLISECONDS);
    };
    try {
      return { program: await entry.loading, release };
    } catch (error) {
      isHeld = false;
      this.forget(key, entry);
      this.leave(entry);
      throw error;
    }
  }

  dispose(): void {
    for (const entry of this.live) this.end(entry);
    this.entries.clear();
    this.ended.dispose();
    this.changed.dispose();
  }

  private start(key: string, model: ModelReference): Entry {
    const entry: Entry = {
      loading: this.load(model, () => {
        this.forget(key, entry);
        this.leave(entry);
        void entry.loading.then(
          (program) => {
            this.ended.fire(program);
          },
          () => undefined,
        );
      }),
      watcher: this.watch(model, (isThere) => {
        this.renew(key, entry, isThere);
      }),
      users: 0,
      timer: undefined,
      settling: undefined,
    };
    this.entries.set(key, entry);
    this.live.add(entry);
    return entry;
  }

  /** What is loaded is out of date at once; who shows it hears of that when there is something new to show. */
  private renew(key: string, entry: Entry, isThere: boolean): void {
    this.forget(key, entry);
    clearTimeout(entry.settling);
    if (!isThere) return;
    entry.settling = setTimeout(() => {
      void entry.loading.then(
        (program) => {
          this.changed.fire(program);
        },
        () => undefined,
      );
    }, SETTLED_MILLISECONDS);
  }

  private forget(key: string, entry: Entry): void {
    if (this.entries.get(key) === entry) this.entries.delete(key);
  }

  private end(entry: Entry): void {
    this.leave(entry);
    void entry.loading.then(
      (program) => {
        program.dispose();
      },
      () => undefined,
    );
  }

  /** Nothing more is to happen to it. */
  private leave(entry: Entry): void {
    clearTimeout(entry.timer);
    clearTimeout(entry.settling);
    entry.watcher.dispose();
    this.live.delete(entry);
  }
}

/** There is nothing that could read a model; the user can set it up. */
export class NoDebugger extends Error {}

/** Where the compiler's names of files are; a model's own name is that of its file. */
const NAMES = ["compilation.bmodel", "final.mlir", "tensor_location.json"];

/** Also outside of the workspace, and without the folders below. */
export function watchFiles({ program }: ModelReference, changed: (isThere: boolean) => void): vscode.Disposable {
  const directory = uriOf(isBmodel(program) || isRecording(program) ? dirname(program) : program);
  const names = new Set([...NAMES, basename(program)].flatMap((name) => [name, `${name}.xz`]));
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(directory, "*"));
  const report = (isThere: boolean) => (uri: vscode.Uri) => {
    if (names.has(basename(uri.path))) changed(isThere);
  };
  watcher.onDidCreate(report(true));
  watcher.onDidChange(report(true));
  watcher.onDidDelete(report(false));
  return watcher;
}
