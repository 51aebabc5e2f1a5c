/** The answer to `tdb/time`, see docs/requests.md. */
export interface Moment {
  readonly ordinal: number;
  readonly commands: number;
  readonly at: number;
  readonly command?: string;
  readonly op?: string;
  readonly location?: string;
  readonly line?: number;
}

/** An answer, or without `moment` that there is no session to show. */
export interface ToTime {
  readonly type: "time";
  readonly moment?: Moment | undefined;
}

export type FromTime = { readonly type: "ready" } | { readonly type: "look" | "travel"; readonly ordinal: number };
