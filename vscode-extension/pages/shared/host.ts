/** The page's end of the line to the extension, which passes questions on to the debug adapter. */
import type { Answer, Ask } from "../../src/protocol/messages";
import type { Body, RequestName, Rest } from "../../src/protocol/requests";

declare function acquireVsCodeApi(): { postMessage(message: object): void };

const host = acquireVsCodeApi();
const waiting = new Map<number, (answer: Answer) => void>();
let asked = 0;

/** What the adapter answers to one of the requests of docs/requests.md; rejects with what it says against it. */
export function ask<Name extends RequestName>(request: Name, ...[rest]: Rest<Name>): Promise<Body<Name>> {
  const id = ++asked;
  tell({ type: "ask", id, request, arguments: rest ?? {} } satisfies Ask);
  return new Promise((resolve, reject) => {
    waiting.set(id, ({ body, error }) => {
      if (error === undefined) resolve(body);
      else reject(new Error(error));
    });
  });
}

export function tell(message: object): void {
  host.postMessage(message);
}

/** Hear what the extension says of itself. Then tell it that the page is ready, so that nothing is missed. */
export function listen(hear: (message: never) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<Answer | { readonly type: unknown }>) => {
    if (isAnswer(data)) {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    } else hear(data as never);
  });
  tell({ type: "ready" });
}

function isAnswer(message: Answer | { readonly type: unknown }): message is Answer {
  return message.type === "answer";
}
