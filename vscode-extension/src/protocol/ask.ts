/** How any page asks the debug adapter: requests go through the extension, which sends them to the page's session. */

export interface Ask {
  readonly type: "ask";
  readonly id: number;
  readonly request: string;
  readonly arguments: object;
}

/** To the `Ask` of this id: a body, or what speaks against it. */
export interface Answer {
  readonly type: "answer";
  readonly id: number;
  readonly body?: unknown;
  readonly error?: string;
}
