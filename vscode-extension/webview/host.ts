/** The extension on the other side: it passes requests on to the debug adapter. */

interface Api {
  postMessage(message: unknown): void;
}
declare function acquireVsCodeApi(): Api;

interface Answer {
  readonly type: "answer";
  readonly id: number;
  readonly body?: unknown;
  readonly error?: string;
}

const api = acquireVsCodeApi();
const waiting = new Map<number, (answer: Answer) => void>();
let last = 0;

/** Send one of the adapter's own requests; rejects with what the adapter says against it. */
export function ask<Body>(command: string, question: object): Promise<Body> {
  const id = ++last;
  api.postMessage({ type: "request", id, command, arguments: question });
  return new Promise((resolve, reject) => {
    waiting.set(id, ({ body, error }) => {
      if (error === undefined) resolve(body as Body);
      else reject(new Error(error));
    });
  });
}

export function tell(message: object): void {
  api.postMessage(message);
}

/** Hear what the extension says of itself. */
export function listen(hear: (message: { readonly type: string }) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<{ readonly type: string }>) => {
    if (isAnswer(data)) {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    } else hear(data);
  });
}

function isAnswer(message: { readonly type: string }): message is Answer {
  return message.type === "answer";
}
