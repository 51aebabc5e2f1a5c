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

class Disposable {
  constructor(readonly dispose: () => void) {}
}

class CancellationError extends Error {}

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
const changedSettings = new EventEmitter<{ affectsConfiguration: (section: string) => boolean }>();

function configuration(section: string) {
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

function say(text: string, options: unknown, ...buttons: string[]): Promise<string | undefined> {
  dialogue.said.push({ text, buttons });
  return Promise.resolve(dialogue.answers.shift() ?? undefined);
}

/** The panels that are open: what their pages say and hear. */
export const pages: { said: EventEmitter<unknown>; heard: unknown[]; close: () => void }[] = [];

function panel(_type: string, title: string) {
  const said = new EventEmitter<unknown>();
  const closed = new EventEmitter<undefined>();
  const heard: unknown[] = [];
  const page = {
    said,
    heard,
    close: () => {
      pages.splice(pages.indexOf(page), 1);
      closed.fire(undefined);
    },
  };
  pages.push(page);
  const webview = {
    html: "",
    cspSource: "",
    asWebviewUri: (uri: unknown) => uri,
    onDidReceiveMessage: said.event,
    postMessage: (message: unknown) => Promise.resolve(heard.push(message) > 0),
  };
  return { title, webview, onDidDispose: closed.event };
}

/** Providers of servers for agents, what was copied, and the commands that were registered. */
export const agents: {
  providers: { id: string; provider: { provideMcpServerDefinitions: () => Promise<object[]> } }[];
  copied: string[];
  commands: Map<string, () => unknown>;
} = { providers: [], copied: [], commands: new Map() };

/** The trees of the side bar. */
export const trees: { treeDataProvider: vscode.TreeDataProvider<unknown> }[] = [];

/** The watchers of files that have been made, each with a way to report a change. */
export const watchers: {
  directory: string;
  fire: Record<"create" | "change" | "remove", (uri: vscode.Uri) => void>;
}[] = [];

function watcher({ base }: { base: vscode.Uri }) {
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
} = { active: undefined, visible: [], session: undefined, commands: [], provider: undefined };
const went = new EventEmitter<vscode.TextEditor | undefined>();
const stacked = new EventEmitter<undefined>();
const terminated = new EventEmitter<vscode.DebugSession>();

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
} = { item: undefined, tasks: [], run: () => 0 };
const scrolled = new EventEmitter<vscode.TextEditorVisibleRangesChangeEvent>();
const endedTask = new EventEmitter<unknown>();
const endedProcess = new EventEmitter<unknown>();

/** The active frame is another one. */
export function selectFrame(item: unknown): void {
  running.item = item;
  stacked.fire(undefined);
}

/** Other lines of an editor are in the window. */
export function scroll(textEditor: vscode.TextEditor): void {
  scrolled.fire({ textEditor, visibleRanges: textEditor.visibleRanges });
}

const write = (text: string) => dialogue.log.push(text);
const fake = {
  EventEmitter,
  Disposable,
  CancellationError,
  ConfigurationTarget,
  ProgressLocation: { Window: 10, Notification: 15 },
  DecorationRangeBehavior: { ClosedClosed: 1 },
  TreeItem: class {
    constructor(
      readonly label: string,
      readonly collapsibleState?: number,
    ) {}
  },
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  ThemeIcon: class {
    constructor(readonly id: string) {}
  },
  ThemeColor: class {
    constructor(readonly id: string) {}
  },
  Position: class {
    constructor(
      readonly line: number,
      readonly character: number,
    ) {}
  },
  Range: class {
    constructor(
      readonly start: unknown,
      readonly end: unknown,
    ) {}
  },
  InlineValueText: class {
    constructor(
      readonly range: unknown,
      readonly text: string,
    ) {}
  },
  ViewColumn: { Beside: -2 },
  TextEditorRevealType: { InCenter: 1 },
  TaskScope: { Workspace: 2 },
  TaskRevealKind: { Always: 1 },
  ProcessExecution: class {
    constructor(
      readonly process: string,
      readonly args: string[],
      readonly options: object,
    ) {}
  },
  Task: class {
    constructor(
      readonly definition: object,
      readonly scope: unknown,
      readonly name: string,
      readonly source: string,
      readonly execution: unknown,
    ) {}
  },
  tasks: {
    registerTaskProvider: () => ({ dispose: () => undefined }),
    onDidEndTask: endedTask.event,
    onDidEndTaskProcess: endedProcess.event,
    executeTask: (task: (typeof running.tasks)[number]) => {
      running.tasks.push(task);
      const execution = { task };
      const exitCode = running.run();
      // One that has just been started may be over before its starter knows of it.
      if (exitCode !== undefined) endedProcess.fire({ execution, exitCode });
      endedTask.fire({ execution });
      return Promise.resolve(execution);
    },
  },
  commands: {
    registerCommand: (name: string, act: () => unknown) => {
      agents.commands.set(name, act);
      return { dispose: () => agents.commands.delete(name) };
    },
    executeCommand: (name: string) => {
      editing.commands.push(`${name} ${editing.active?.document.uri.path ?? ""}`);
      return Promise.resolve();
    },
  },
  languages: {
    registerInlineValuesProvider: (_language: string, provider: vscode.InlineValuesProvider) => {
      editing.provider = provider;
      return { dispose: () => (editing.provider = undefined) };
    },
  },
  Uri: {
    joinPath: (base: string, ...parts: string[]) => [base, ...parts].join("/"),
    file: uriOf,
    from: (parts: object) => parts,
  },
  RelativePattern: class {
    constructor(
      readonly base: vscode.Uri,
      readonly pattern: string,
    ) {}
  },
  lm: {
    registerMcpServerDefinitionProvider: (id: string, provider: (typeof agents.providers)[number]["provider"]) => {
      agents.providers.push({ id, provider });
      return { dispose: () => undefined };
    },
  },
  McpStdioServerDefinition: class {
    constructor(
      readonly label: string,
      readonly command: string,
      readonly args: string[],
      readonly env: Record<string, string>,
      readonly version: string,
    ) {}
  },
  env: {
    clipboard: {
      writeText: (text: string) => {
        agents.copied.push(text);
        return Promise.resolve();
      },
    },
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
  extensions: { getExtension: () => undefined },
  window: {
    get activeTextEditor() {
      return editing.active;
    },
    get visibleTextEditors() {
      return editing.visible;
    },
    onDidChangeActiveTextEditor: went.event,
    onDidChangeTextEditorVisibleRanges: scrolled.event,
    createWebviewPanel: panel,
    createTreeView: (_name: string, { treeDataProvider }: vscode.TreeViewOptions<unknown>) => {
      const view = { treeDataProvider, visible: true, message: "", badge: undefined };
      trees.push(view);
      return { ...view, onDidChangeVisibility: new EventEmitter().event, dispose: () => undefined };
    },
    createTextEditorDecorationType: () => ({ dispose: () => undefined }),
    createOutputChannel: () => ({ debug: write, info: write, warn: write, error: write, show: () => undefined }),
    showErrorMessage: say,
    showWarningMessage: say,
    showInformationMessage: say,
    showQuickPick: (items: { label: string; path?: string }[]) => {
      dialogue.said.push({ text: "pick", buttons: items.map(({ label, path }) => path ?? label) });
      const wanted = dialogue.answers.shift();
      return Promise.resolve(items.find(({ label, path }) => wanted === (path ?? label)));
    },
    withProgress: (_options: unknown, work: (progress: unknown, token: unknown) => unknown) =>
      work(
        { report: () => undefined },
        { isCancellationRequested: false, onCancellationRequested: new EventEmitter().event },
      ),
  },
  workspace: {
    isTrusted: true,
    get workspaceFolders() {
      return folders;
    },
    getWorkspaceFolder: (uri: vscode.Uri) => folders.find((folder) => folder.uri.toString() === uri.toString()),
    getConfiguration: configuration,
    createFileSystemWatcher: watcher,
    get textDocuments() {
      return texts.open;
    },
    registerTextDocumentContentProvider: (_scheme: string, provider: vscode.TextDocumentContentProvider) => {
      texts.provider = provider;
      return { dispose: () => (texts.provider = undefined) };
    },
    onDidChangeConfiguration: changedSettings.event,
    onDidChangeWorkspaceFolders: new EventEmitter<undefined>().event,
  },
  debug: {
    get activeDebugSession() {
      return editing.session;
    },
    get activeStackItem() {
      return running.item;
    },
    onDidChangeActiveStackItem: stacked.event,
    onDidTerminateDebugSession: terminated.event,
    asDebugSourceUri: ({ path }: { path: string }) => uriOf(path),
    registerDebugAdapterTrackerFactory: (_type: string, factory: vscode.DebugAdapterTrackerFactory) => {
      factories.push(factory);
      return { dispose: () => factories.splice(factories.indexOf(factory), 1) };
    },
  },
};

const modules = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown };
const load = modules._load.bind(modules);
modules._load = (name, ...rest) => (name === "vscode" ? fake : load(name, ...rest));
