/** What the page of a view and the extension say to each other, besides questions to the adapter. */
export type ToPage = { readonly type: "session"; readonly name: string | undefined } | { readonly type: "stopped" };

export type FromPage =
  | { readonly type: "ready" }
  | { readonly type: "open"; readonly line: number }
  | { readonly type: "travel"; readonly ordinal: number };
