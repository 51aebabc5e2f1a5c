/** What the page and its worker say to each other. */

/** Files by name, where the page holds them itself. */
export type Files = Readonly<Record<string, ArrayBuffer>>;

/** To the worker, first: where the engine is, and which packages it has. */
export interface Start {
  readonly base: string;
  readonly files: Files | null;
  readonly wheels: readonly string[];
}

/** To the worker: a question of `tools/share/engine.py`. */
export interface Question {
  readonly id: number;
  readonly question: string;
}

/** From the worker. */
export type Reply =
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly text: string }
  | { readonly kind: "answer"; readonly id: number; readonly answer: string };

/** The model, its lines and ops. */
export interface Model {
  readonly title: string;
  readonly commands: number;
  readonly at: number;
  readonly bookmarks: Readonly<Record<string, number>>;
  readonly hasReference: boolean;
  readonly mlir: readonly string[];
  readonly ops: readonly { line: number; opcode: string; name: string; first: number; last: number }[];
}

/** A moment. */
export interface State {
  readonly ordinal: number;
  readonly atEnd: boolean;
  readonly line: number;
  readonly text: string;
  readonly focus: number;
  readonly listing: readonly { ordinal: number; text: string; core: number }[];
  readonly values: readonly { expression: string; title: string; text: string }[];
}

/** A tensor with its picture. */
export interface Tensor {
  readonly title: string;
  readonly text: string;
  readonly shape: readonly number[];
  readonly picture: readonly (readonly (number | null)[])[];
  readonly difference: string;
}
