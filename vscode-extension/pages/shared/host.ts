/** The page's connection to the extension, which passes requests on to the debug adapter. */
import type { Answer, Ask, PageState } from "../../src/protocol/messages";
import type { Body, RequestName, Rest } from "../../src/protocol/requests";

declare function acquireVsCodeApi(): { postMessage(message: object): void; setState(state: object): void };

const host = acquireVsCodeApi();
/** Whether the latest input was a key. */
let isByKey = false;
for (const [name, value] of [
  ["keydown", true],
  ["pointerdown", false],
] as const)
  window.addEventListener(
    name,
    () => {
      isByKey = value;
    },
    true,
  );
const waiting = new Map<number, (answer: Answer) => void>();
let asked = 0;
/** Tells this page from others in its place; it is only known while the script runs for the first time. */
const nonce = (document.currentScript as HTMLScriptElement | null)?.nonce;

/** Send one of the requests of docs/requests.md to the adapter; rejects with its error message. */
export function ask<Name extends RequestName>(request: Name, ...[rest]: Rest<Name>): Promise<Body<Name>> {
  const id = ++asked;
  send({ type: "ask", id, request, arguments: rest ?? {} } satisfies Ask);
  return new Promise((resolve, reject) => {
    waiting.set(id, ({ body, error }) => {
      if (error === undefined) resolve(body);
      else reject(new Error(error));
    });
  });
}

export function send(message: object): void {
  host.postMessage(message);
}

/** Whether what is opened now takes the keyboard: after Enter it does, after a click it stays in the page. */
export function takesKeyboard(): boolean {
  return isByKey;
}

/** Keep this over a reload of the window. */
export function keep(state: PageState): void {
  host.setState(state);
}

/** Receive messages of the extension. Then report that the page is ready, so that none is missed. */
export function listen(receive: (message: never) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<Answer | { readonly type: unknown }>) => {
    if (isAnswer(data)) {
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    } else receive(data as never);
  });
  send({ type: "ready", nonce });
}

function isAnswer(message: Answer | { readonly type: unknown }): message is Answer {
  return message.type === "answer";
}
