/** The page's end of the line to the extension. */
import type { FromPage, ToPage } from "../../src/views/messages";

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void };

const host = acquireVsCodeApi();
const waiting = new Map<number, { resolve: (body: unknown) => void; reject: (error: Error) => void }>();
let asked = 0;

/** What the adapter answers to one of the requests of docs/requests.md. */
export function ask<Body>(request: string, rest: object = {}): Promise<Body> {
  const id = ++asked;
  host.postMessage({ type: "ask", id, request, arguments: rest });
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve: resolve as (body: unknown) => void, reject });
  });
}

export function openLine(line: number): void {
  host.postMessage({ type: "open", line });
}

export function travel(ordinal: number): void {
  host.postMessage({ type: "travel", ordinal });
}

/** `load` runs for each session, `stopped` after each stop; `ended` when there is no session (any more). */
export function follow(on: { load: () => Promise<void>; stopped: () => Promise<void>; ended: () => void; failed: (why: string) => void }): void {
  const tell = (error: unknown) => {
    on.failed(error instanceof Error ? error.message : String(error));
  };
  window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
    if (data.type === "answer") {
      const found = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error === undefined) found?.resolve(data.body);
      else found?.reject(new Error(data.error));
    } else if (data.type === "stopped") {
      on.stopped().catch(tell);
    } else if (data.name === undefined) {
      on.ended();
    } else {
      on.load().catch(tell);
    }
  });
  host.postMessage({ type: "ready" });
}
