/** As much of VS Code as the tests need, under the name `vscode`, in English. Import it before what uses that. */
import Module from "node:module";
import type * as vscode from "vscode";

/** The tracker factories that have been registered. */
export const factories: vscode.DebugAdapterTrackerFactory[] = [];

class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();

  readonly event = (listener: (value: T) => void) => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of this.listeners) listener(value);
  }

  dispose(): void {
    this.listeners.clear();
  }
}

/** The display language, and the extension's translations into it. */
export const language: { code: string; bundle: Record<string, string> | undefined } = { code: "en", bundle: undefined };

const fake = {
  EventEmitter,
  Uri: { joinPath: (base: string, ...parts: string[]) => [base, ...parts].join("/") },
  env: {
    get language() {
      return language.code;
    },
  },
  l10n: {
    get bundle() {
      return language.bundle;
    },
    t: (message: string, ...args: (string | number)[]) =>
      message.replace(/\{(\d+)\}/g, (hole, index: string) => String(args[Number(index)] ?? hole)),
  },
  debug: {
    registerDebugAdapterTrackerFactory: (_type: string, factory: vscode.DebugAdapterTrackerFactory) => {
      factories.push(factory);
      return { dispose: () => factories.splice(factories.indexOf(factory), 1) };
    },
  },
};

const modules = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown };
const load = modules._load.bind(modules);
modules._load = (name, ...rest) => (name === "vscode" ? fake : load(name, ...rest));
