/** Pages that show the current session, whichever that is. */
import { textOf } from "../../src/protocol/errors";
import type { FromModelPage, ToModelPage, TracePoint } from "../../src/protocol/messages";
import { ask, keep, listen, send, takesKeyboard } from "./host";
import { t } from "./l10n";
import { countThrough } from "./lines";
import { count } from "./text";

export function openLine(line: number): void {
  send({ type: "open", line, takesKeyboard: takesKeyboard() } satisfies FromModelPage);
}

export function travel(ordinal: number): void {
  send({ type: "travel", ordinal, takesKeyboard: takesKeyboard() } satisfies FromModelPage);
}

/** Open the tensor view; `ordinal`: pinned to that moment. */
export function viewTensor(expression: string, ordinal?: number): void {
  send({ type: "tensor", expression, ordinal } satisfies FromModelPage);
}

/** Ask for a file of reference data, compare with it from now on, and remember it for this model. */
export function chooseReference(): void {
  send({ type: "chooseReference" } satisfies FromModelPage);
}

/** The same for the inputs of the net. */
export function chooseInput(): void {
  send({ type: "chooseInput" } satisfies FromModelPage);
}

/** Show only what differs, in all views of what has been compared. */
export function showOnlyFailed(isWanted: boolean): void {
  send({ type: "onlyFailed", isWanted } satisfies FromModelPage);
}

/** Start a session of the model that the page shows. */
export function debug(): void {
  send({ type: "debug" } satisfies FromModelPage);
}

/** Ask where to, and write a file there; `name`: the one that is offered. */
export function saveText(name: string, text: string): void {
  send({ type: "saveText", name, text } satisfies FromModelPage);
}

/** Whether the program that the page shows is in a session, and not only looked at. */
let isDebugged = false;

/** How far a program has been executed, in words. */
export function progressText(ordinal: number, commands: number): string {
  return isDebugged
    ? t("{0} of {1} commands executed", count(ordinal), count(commands))
    : t("{0} commands, not running", count(commands));
}

/**
 * `load` runs for each session, and for each model that is only looked at; `stopped` after each stop; `ended` when there
 * is nothing to show (any more).
 */
export function follow(on: {
  load: (isDebugged: boolean) => Promise<void>;
  stopped: () => Promise<void>;
  /** What the other views of compared tensors show now. */
  onlyFailed?: (isWanted: boolean) => void;
  /** Another view has had the tensors compared up to now. */
  compared?: () => Promise<void>;
  /** The bytes of a tensor are wanted. */
  bytes?: (address: string, dtype: string) => void;
  /** These are traced; `chosen`: the key of the one to show. */
  traces?: (points: readonly TracePoint[], chosen: string | undefined) => Promise<void>;
  ended: () => void;
  failed: (why: string) => void;
}): void {
  const failed = (error: unknown) => {
    on.failed(textOf(error));
  };
  listen((message: ToModelPage) => {
    if (message.type === "onlyFailed") {
      on.onlyFailed?.(message.isWanted);
      return;
    }
    if (message.type === "compared") {
      on.compared?.().catch(failed);
      return;
    }
    if (message.type === "bytes") {
      on.bytes?.(message.address, message.dtype);
      return;
    }
    if (message.type === "traces") {
      on.traces?.(message.points, message.chosen).catch(failed);
      return;
    }
    if (message.type === "stopped") {
      on.stopped().catch(failed);
      return;
    }
    ({ isDebugged } = message);
    if (message.model !== undefined) keep({ model: message.model });
    if (message.name === undefined) on.ended();
    else
      learnFiles()
        .then(() => on.load(isDebugged))
        .catch(failed);
  });
}

/** Whose lines the responses count: asked for anew, since another program has other files. */
async function learnFiles(): Promise<void> {
  countThrough((await ask("tdb/moment")).files);
}
