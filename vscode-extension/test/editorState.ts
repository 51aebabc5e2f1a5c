/** The state of the editor that the tests run in: what they set, and what the extension has done. */
import type * as vscode from "vscode";

/** The tracker factories that have been registered. */
export const factories: vscode.DebugAdapterTrackerFactory[] = [];

export class EventEmitter<T> {
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

export class Disposable {
  constructor(readonly dispose: () => void) {}
}

export class CancellationError extends Error {}

/** The display language, and the extension's translations into it. */
export const language: { code: string; bundle: Record<string, string> | undefined } = { code: "en", bundle: undefined };

/** What has been said to the user, with its buttons, and what the user will answer: "" closes the message. */
export const dialogue: { said: { text: string; buttons: string[] }[]; answers: string[]; log: string[] } = {
  said: [],
  answers: [],
  log: [],
};

/** Scopes of settings, the strongest last, as in `ConfigurationTarget`. */
export const ConfigurationTarget = { Global: 1, Workspace: 2, WorkspaceFolder: 3 } as const;
/** Values of settings by their full name, one for each scope. */
export const settings = new Map<string, Partial<Record<1 | 2 | 3, unknown>>>();
export const changedSettings = new EventEmitter<{ affectsConfiguration: (section: string) => boolean }>();

export function configuration(section: string) {
  const of = (name: string) => settings.get(`${section}.${name}`) ?? {};
  return {
    get: (name: string, otherwise?: unknown) => of(name)[3] ?? of(name)[2] ?? of(name)[1] ?? otherwise,
    inspect: (name: string) => ({
      globalValue: of(name)[1],
      workspaceValue: of(name)[2],
      workspaceFolderValue: of(name)[3],
    }),
    update(name: string, value: unknown, target: 1 | 2 | 3) {
      settings.set(`${section}.${name}`, { ...of(name), [target]: value });
      changedSettings.fire({ affectsConfiguration: (asked) => asked === section });
      return Promise.resolve();
    },
  };
}

export function say(text: string, options: unknown, ...buttons: string[]): Promise<string | undefined> {
  dialogue.said.push({ text, buttons });
  return Promise.resolve(dialogue.answers.shift() ?? undefined);
}

/** The nonce of a page's script. */
export function nonceOf(html: string): string | undefined {
  return /<script nonce="([^"]+)"/.exec(html)?.[1];
}

/** The panels that are open: what their pages say and hear. */
export const pages: {
  readonly said: EventEmitter<unknown>;
  readonly heard: unknown[];
  readonly close: () => void;
  readonly show: (isVisible: boolean) => void;
  /** Its script starts. */
  readonly start: () => void;
  readonly column: unknown;
  html: string;
}[] = [];

export function panel(_type: string, title: string, place?: unknown, options = {}) {
  const said = new EventEmitter<unknown>();
  const closed = new EventEmitter<undefined>();
  const changed = new EventEmitter<undefined>();
  const heard: unknown[] = [];
  const page = {
    said,
    heard,
    column: (place as { viewColumn?: unknown } | undefined)?.viewColumn,
    html: "",
    close: () => {
      pages.splice(pages.indexOf(page), 1);
      closed.fire(undefined);
    },
    start: () => {
      said.fire({ type: "ready", nonce: nonceOf(page.html) });
    },
    show: (isVisible: boolean) => {
      made.visible = isVisible;
      changed.fire(undefined);
    },
  };
  pages.push(page);
  const webview = {
    get html() {
      return page.html;
    },
    set html(html: string) {
      page.html = html;
    },
    cspSource: "",
    asWebviewUri: (uri: unknown) => uri,
    onDidReceiveMessage: said.event,
    postMessage: (message: unknown) => Promise.resolve(heard.push(message) > 0),
  };
  const made = {
    title,
    webview,
    options,
    viewColumn: page.column,
    visible: true,
    active: false,
    dispose: page.close,
    onDidDispose: closed.event,
    onDidChangeViewState: changed.event,
  };
  return made;
}

/** Providers of servers for agents, what was copied, and the commands that were registered. */
export const agents: {
  providers: { id: string; provider: { provideMcpServerDefinitions: () => Promise<object[]> } }[];
  copied: string[];
  commands: Map<string, () => unknown>;
} = { providers: [], copied: [], commands: new Map() };

/** The trees of the side bar. */
export const trees: {
  treeDataProvider: vscode.TreeDataProvider<unknown>;
  visible: boolean;
  readonly message: string;
  readonly badge: vscode.ViewBadge | undefined;
}[] = [];

/** Keys of `when` clauses that have been set. */
export const contexts = new Map<string, unknown>();

/** The watchers of files that have been made, each with a way to report a change. */
export const watchers: {
  directory: string;
  fire: Record<"create" | "change" | "remove", (uri: vscode.Uri) => void>;
}[] = [];

export function watcher({ base }: { base: vscode.Uri }) {
  const [created, changed, removed] = [0, 1, 2].map(() => new EventEmitter<vscode.Uri>()) as [
    EventEmitter<vscode.Uri>,
    EventEmitter<vscode.Uri>,
    EventEmitter<vscode.Uri>,
  ];
  watchers.push({
    directory: base.path,
    fire: {
      create: (uri) => {
        created.fire(uri);
      },
      change: (uri) => {
        changed.fire(uri);
      },
      remove: (uri) => {
        removed.fire(uri);
      },
    },
  });
  const dispose = () => undefined;
  return { onDidCreate: created.event, onDidChange: changed.event, onDidDelete: removed.event, dispose };
}

/** Texts that are open, and who provides those of models. */
export const texts: {
  open: { uri: vscode.Uri }[];
  provider: vscode.TextDocumentContentProvider | undefined;
} = { open: [], provider: undefined };

/** Breakpoints as VS Code has them; lines from 0. */
export class SourceBreakpoint {
  readonly location: { uri: vscode.Uri; range: { start: { line: number } } };
  enabled = true;
  condition: string | undefined;

  constructor(
    readonly id: string,
    path: string,
    line: number,
    readonly logMessage?: string,
  ) {
    this.location = { uri: uriOf(path), range: { start: { line } } };
  }
}

export class FunctionBreakpoint {
  constructor(
    readonly functionName: string,
    readonly enabled: boolean,
    readonly condition: string,
  ) {}
}

/** The breakpoints that are set, and the event that they are others. */
export const gutter = { breakpoints: [] as unknown[], changed: new EventEmitter<undefined>() };

/** Folders of the workspace. */
export const folders: { uri: vscode.Uri }[] = [];
export const uriOf = (path: string) =>
  ({ scheme: "file", path, fsPath: path, toString: () => `file://${path}` }) as unknown as vscode.Uri;

/** What is open in the editor, what is debugged there, and the commands that were executed. */
export const editing: {
  active: vscode.TextEditor | undefined;
  visible: vscode.TextEditor[];
  session: vscode.DebugSession | undefined;
  commands: string[];
  provider: vscode.InlineValuesProvider | undefined;
  lenses: vscode.CodeLensProvider | undefined;
} = { active: undefined, visible: [], session: undefined, commands: [], provider: undefined, lenses: undefined };
export const went = new EventEmitter<vscode.TextEditor | undefined>();
export const stacked = new EventEmitter<unknown>();
export const terminated = new EventEmitter<vscode.DebugSession>();

/** Another text editor has become the active one. */
export function goTo(editor: vscode.TextEditor | undefined): void {
  editing.active = editor;
  went.fire(editor);
}

/** A debug session is over. */
export function terminate(session: vscode.DebugSession): void {
  if (editing.session === session) editing.session = undefined;
  terminated.fire(session);
}

/** Where the active session stands; tasks that were started, and how the next ones end. */
export const running: {
  item: unknown;
  tasks: {
    definition: { type: string };
    name: string;
    execution: { process: string; args: string[]; options: object };
  }[];
  /** What a task does before it ends; its exit code, or undefined where it is ended by the user. */
  run: () => number | undefined;
  configurations: vscode.DebugConfigurationProvider[];
  /** Extensions that are installed. */
  extensions: Set<string>;
  /** Groups of editors, of which one is active. */
  tabs: { all: unknown[]; activeTabGroup: { viewColumn: number; activeTab?: { input: unknown } } };
} = {
  item: undefined,
  tasks: [],
  run: () => 0,
  configurations: [],
  extensions: new Set(),
  tabs: { all: [0], activeTabGroup: { viewColumn: 1 } },
};

/** A tab with a page of an extension. */
export class TabInputWebview {
  constructor(readonly viewType: string) {}
}

export class DebugStackFrame {
  readonly frameId = 1;
}

export const scrolled = new EventEmitter<vscode.TextEditorVisibleRangesChangeEvent>();
export const endedTask = new EventEmitter<unknown>();
export const endedProcess = new EventEmitter<unknown>();

/** The active frame is another one. */
export function selectFrame(item: unknown): void {
  running.item = item;
  stacked.fire(item);
}

/** Other lines of an editor are in the window. */
export function scroll(textEditor: vscode.TextEditor): void {
  scrolled.fire({ textEditor, visibleRanges: textEditor.visibleRanges });
}
