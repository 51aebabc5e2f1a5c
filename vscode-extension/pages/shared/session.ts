/** Pages that show the current session, whichever that is. */
import { textOf } from "../../src/protocol/errors";
import type { FromModelPage, ToModelPage } from "../../src/protocol/messages";
import { listen, send } from "./host";

export function openLine(line: number): void {
  send({ type: "open", line } satisfies FromModelPage);
}

export function travel(ordinal: number): void {
  send({ type: "travel", ordinal } satisfies FromModelPage);
}

/** Open the tensor view; `ordinal`: pinned to that moment. */
export function viewTensor(expression: string, ordinal?: number): void {
  send({ type: "tensor", expression, ordinal } satisfies FromModelPage);
}

/** Ask for a file of reference data, compare with it from now on, and remember it for this model. */
export function chooseReference(): void {
  send({ type: "chooseReference" } satisfies FromModelPage);
}

/** Ask where to, and write a file there; `name`: the one that is offered. */
export function saveText(name: string, text: string): void {
  send({ type: "saveText", name, text } satisfies FromModelPage);
}

/** `load` runs for each session, `stopped` after each stop; `ended` when there is no session (any more). */
export function follow(on: {
  load: () => Promise<void>;
  stopped: () => Promise<void>;
  ended: () => void;
  failed: (why: string) => void;
}): void {
  const failed = (error: unknown) => {
    on.failed(textOf(error));
  };
  listen((message: ToModelPage) => {
    if (message.type === "stopped") on.stopped().catch(failed);
    else if (message.name === undefined) on.ended();
    else on.load().catch(failed);
  });
}
