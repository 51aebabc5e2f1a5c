/** What the extension and the worker of a session in a browser send each other. */

/** Contents by path. */
export type Contents = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

/** To the worker, first: the engine's files, their names beginning with `engine/`, and the names of its wheels. */
export interface StartWorker {
  readonly kind: "start";
  readonly files: Readonly<Record<string, ArrayBuffer>>;
  readonly wheels: readonly string[];
}

/** To the worker: files for the session, by absolute path. */
export interface WriteFiles {
  readonly kind: "write";
  readonly files: Contents;
}

/** To the worker and from it: a message of the Debug Adapter Protocol, as JSON. */
export interface ProtocolText {
  readonly kind: "message";
  readonly text: string;
}

export type ToWorker = StartWorker | WriteFiles | ProtocolText;

/** `progress`: what it is doing; `failed`: why it has ended; `over`: the session has ended as it should. */
export type FromWorker =
  ProtocolText | { readonly kind: "progress" | "failed"; readonly text: string } | { readonly kind: "over" };
