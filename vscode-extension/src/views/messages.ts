/** What a page of a webview and the extension say to each other. */
export type ToPage =
  | { readonly type: "session"; readonly name: string | undefined }
  | { readonly type: "stopped" }
  | { readonly type: "answer"; readonly id: number; readonly body?: unknown; readonly error?: string };

export type FromPage =
  | { readonly type: "ready" }
  | { readonly type: "ask"; readonly id: number; readonly request: string; readonly arguments: object }
  | { readonly type: "open"; readonly line: number }
  | { readonly type: "travel"; readonly ordinal: number };
