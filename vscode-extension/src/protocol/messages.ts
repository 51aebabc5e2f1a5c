/** Messages between a page and the extension. */
import type { DataArguments, ModelContents, TensorArguments, TimeMark, TimePoint, TraceArguments } from "./generated";
import type { Answered, RequestName } from "./requests";

/** Which model: a context directory or a .bmodel file, and of several nets and stages which one. */
export interface ModelReference {
  readonly program: string;
  readonly net?: string | undefined;
  readonly stage?: number | undefined;
}

/** A page's question to the debug adapter; the extension sends it to the page's session. */
export interface Ask {
  readonly type: "ask";
  readonly id: number;
  readonly request: RequestName;
  readonly arguments: object;
}

/** To the `Ask` of this id: a body, or what speaks against it. */
export interface Answer {
  readonly type: "answer";
  readonly id: number;
  readonly body?: Answered;
  readonly error?: string;
}

/**
 * To the pages of the model: chip memory, graph, timeline, compare, trace. `name`: of the program, if there is one to show;
 * `isDebugged`: it is in a session, and not only looked at.
 */
export type ToModelPage =
  | {
      readonly type: "session";
      readonly name: string | undefined;
      readonly model: ModelReference | undefined;
      readonly isDebugged: boolean;
    }
  | { readonly type: "stopped" }
  /** To the page of compared tensors: another view has compared, or shows all or only what differs. */
  | { readonly type: "compared" }
  | { readonly type: "onlyFailed"; readonly isWanted: boolean }
  /** To the page of chip memory: the bytes from a memory reference on, as numbers of a type. */
  | { readonly type: "bytes"; readonly address: string; readonly dtype: string }
  /** To the page of traces: all trace points; `chosen`: the key of one that is to be shown now. */
  | { readonly type: "traces"; readonly points: readonly TracePoint[]; readonly chosen: string | undefined };

/** What is traced: a log point, or what the user has typed. */
export interface TracePoint {
  /** The same as long as the log point is the same, whatever it is changed to. */
  readonly key: string;
  readonly title: string;
  readonly arguments: TraceArguments;
  /** Whether the view can remove it; a log point is removed in the gutter. */
  readonly isRemovable: boolean;
}

/** What a page of the model keeps over a reload of the window. */
export interface PageState {
  readonly model: ModelReference;
}

export type FromModelPage =
  | { readonly type: "ready" }
  /** `takesKeyboard`: as after Enter, and not after a click. */
  | { readonly type: "open"; readonly line: number; readonly takesKeyboard: boolean }
  | { readonly type: "travel"; readonly ordinal: number; readonly takesKeyboard: boolean }
  /** `ordinal`: pinned to that moment. */
  | { readonly type: "tensor"; readonly expression: string; readonly ordinal?: number | undefined }
  | { readonly type: "chooseReference" | "chooseInput" }
  | { readonly type: "onlyFailed"; readonly isWanted: boolean }
  /** All nets of the language model as one program that answers; numbers of tokens, or a text. */
  | {
      readonly type: "prompt";
      readonly prompt: string | readonly number[];
      readonly tokens: number;
      readonly chat: boolean;
    }
  /** The folder of the language model before conversion, for the next answer. */
  | { readonly type: "chooseFloatModel" }
  /** Start a session of the model, or of one that the user chooses. */
  | { readonly type: "debug" }
  /** Ask the user for a trace point. */
  | { readonly type: "trace" }
  | { readonly type: "dropTrace"; readonly key: string }
  /** Set a breakpoint: its place as a function breakpoint has it. */
  | { readonly type: "stopWhere"; readonly name: string; readonly condition: string }
  | { readonly type: "saveText"; readonly name: string; readonly text: string };

/** Which tensor, at which moment; part of every request about it. */
export type Subject = TensorArguments;

/** Which of a tensor's numbers have pictures. */
export type Source = Extract<DataArguments["of"], "actual" | "stored" | "reference" | "error">;

/** Which can be in the table: also the words in memory. */
export type NumberKind = Source | Extract<DataArguments["of"], "bits">;

export type FileFormat = "npy" | "npz" | "csv" | "png";

export type FromTensorPage =
  | { readonly type: "ready" }
  | {
      readonly type: "save";
      readonly format: FileFormat;
      readonly subject: Subject;
      readonly of: Source;
      /** In base64, of a png. */
      readonly picture?: string | undefined;
    };

export type ToTensorPage =
  /** `history`: with all versions. */
  | { readonly type: "show"; readonly subject: Subject; readonly history: boolean }
  | { readonly type: "stopped" }
  | { readonly type: "ended" };

/** To the time slider: an answer, or without `moment` that there is no session to show. */
export interface ToTimePage {
  readonly type: "time";
  readonly moment?: TimePoint | undefined;
  readonly marks: readonly Mark[];
}

/** A moment that stands out; bookmarks are the extension's own. */
export interface Mark {
  readonly ordinal: number;
  readonly kind: TimeMark["kind"] | "bookmark";
  readonly text: string;
}

export type FromTimePage =
  { readonly type: "ready" } | { readonly type: "look" | "travel" | "bookmark"; readonly ordinal: number };

/** Where a row about a model leads to. */
export type Link =
  | { readonly to: "debug" }
  | { readonly to: "view"; readonly view: "graph" | "timeline" | "memory" | "answer" }
  | { readonly to: "tensor"; readonly expression: string }
  | { readonly to: "line" | "listing"; readonly line: number }
  /** The moment before a command where there is a session, else its line of the listing. */
  | { readonly to: "moment"; readonly ordinal: number; readonly line: number };

/** To the editor of a compiled model: what it consists of, or what is wrong with it. */
export type ToEditorPage =
  | { readonly type: "contents"; readonly contents: ModelContents }
  | { readonly type: "failed"; readonly why: string; readonly canSetUp: boolean }
  | { readonly type: "loading" };

export type FromEditorPage =
  | { readonly type: "ready" | "setUp" }
  | { readonly type: "choose"; readonly net: string; readonly stage: number }
  /** `takesKeyboard`: as after Enter, and not after a click. */
  | { readonly type: "follow"; readonly link: Link; readonly takesKeyboard: boolean };
