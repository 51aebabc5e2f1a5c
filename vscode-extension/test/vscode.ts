/** As much of VS Code as the tests need, under the name `vscode`, in English. Import it before what uses that. */
import Module from "node:module";
import { posix } from "node:path";
import type * as vscode from "vscode";
import {
  agents,
  CancellationError,
  changedSettings,
  configuration,
  contexts,
  ConfigurationTarget,
  DebugStackFrame,
  dialogue,
  Disposable,
  editing,
  endedProcess,
  endedTask,
  EventEmitter,
  factories,
  folders,
  FunctionBreakpoint,
  gutter,
  language,
  panel,
  running,
  say,
  scrolled,
  SourceBreakpoint,
  stacked,
  TabInputWebview,
  terminated,
  texts,
  trees,
  uriOf,
  watcher,
  went,
} from "./editorState";
import { parts } from "./parts";
import { fileSystem, virtualUri } from "./virtual";

export {
  agents,
  ConfigurationTarget,
  DebugStackFrame,
  dialogue,
  editing,
  factories,
  folders,
  goTo,
  language,
  pages,
  running,
  scroll,
  selectFrame,
  TabInputWebview,
  settings,
  terminate,
  texts,
  trees,
  uriOf,
  watchers,
} from "./editorState";

const write = (text: string) => dialogue.log.push(text);
const fake = {
  EventEmitter,
  Disposable,
  CancellationError,
  ConfigurationTarget,
  ProgressLocation: { Window: 10, Notification: 15 },
  DecorationRangeBehavior: { ClosedClosed: 1 },
  ...parts,
  SourceBreakpoint,
  FunctionBreakpoint,
  DebugStackFrame,
  TabInputWebview,
  ViewColumn: { One: 1, Two: 2, Beside: -2 },
  TextEditorRevealType: { InCenter: 1, AtTop: 3 },
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
    executeCommand: (name: string, ...args: unknown[]) => {
      if (name === "setContext") contexts.set(String(args[0]), args[1]);
      editing.commands.push(`${name} ${editing.active?.document.uri.path ?? ""}`);
      return Promise.resolve();
    },
  },
  languages: {
    registerCodeLensProvider: (_selector: unknown, provider: vscode.CodeLensProvider) => {
      editing.lenses = provider;
      return { dispose: () => undefined };
    },
    registerInlineValuesProvider: (_language: string, provider: vscode.InlineValuesProvider) => {
      editing.provider = provider;
      return { dispose: () => (editing.provider = undefined) };
    },
  },
  Uri: {
    joinPath: (base: string | vscode.Uri, ...parts: string[]) =>
      typeof base === "string" ? [base, ...parts].join("/") : base.with({ path: posix.join(base.path, ...parts) }),
    file: uriOf,
    parse: (text: string) => (text.startsWith("file:") ? uriOf(new URL(text).pathname) : virtualUri(text)),
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
  extensions: { getExtension: (id: string) => (running.extensions.has(id) ? { id } : undefined) },
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
    get tabGroups() {
      return running.tabs;
    },
    registerWebviewPanelSerializer: () => ({ dispose: () => undefined }),
    createTreeView: (_name: string, { treeDataProvider }: vscode.TreeViewOptions<unknown>) => {
      const view = {
        treeDataProvider,
        visible: true,
        message: "",
        badge: undefined,
        onDidChangeVisibility: new EventEmitter().event,
        dispose: () => undefined,
      };
      trees.push(view);
      return view;
    },
    createTextEditorDecorationType: () => ({ dispose: () => undefined }),
    createOutputChannel: () => ({ debug: write, info: write, warn: write, error: write, show: () => undefined }),
    showErrorMessage: say,
    showWarningMessage: say,
    showInformationMessage: say,
    showInputBox: () => Promise.resolve(dialogue.answers.shift()),
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
  FileType: { File: 1, Directory: 2 },
  workspace: {
    isTrusted: true,
    fs: fileSystem,
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
  DebugConfigurationProviderTriggerKind: { Dynamic: 2 },
  debug: {
    registerDebugConfigurationProvider: (_type: string, provider: vscode.DebugConfigurationProvider) => {
      running.configurations.push(provider);
      return { dispose: () => undefined };
    },
    registerDebugAdapterDescriptorFactory: () => ({ dispose: () => undefined }),
    get activeDebugSession() {
      return editing.session;
    },
    get activeStackItem() {
      return running.item;
    },
    onDidChangeActiveStackItem: stacked.event,
    onDidTerminateDebugSession: terminated.event,
    get breakpoints() {
      return gutter.breakpoints;
    },
    onDidChangeBreakpoints: gutter.changed.event,
    addBreakpoints: (added: readonly unknown[]) => gutter.breakpoints.push(...added),
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
