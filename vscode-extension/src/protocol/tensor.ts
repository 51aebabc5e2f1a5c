/** What the tensor view and the extension say to each other, besides the requests of docs/requests.md. */

/** Which tensor, at which moment; part of every request. */
export interface Subject {
  readonly expression: string;
  readonly frameId?: number;
  readonly focus?: number;
  readonly level?: "command" | "op";
  readonly ordinal?: number;
}

export type Source = "actual" | "reference" | "error";

export interface Description {
  readonly title: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly type?: string;
  readonly layout?: string;
  readonly scale: number;
  readonly zeroPoint: number;
  readonly hasReference: boolean;
  readonly pending: boolean;
  readonly focus: number;
  readonly level: "command" | "op";
  readonly ordinal: number;
  readonly commands: number;
}

export interface Numbers {
  readonly shape: readonly number[];
  readonly format: "f32" | "f64";
  readonly data: string;
}

export interface Statistics {
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly mean: number | null;
  readonly deviation: number | null;
  readonly nan: number;
  readonly inf: number;
  readonly zeros: number;
  readonly saturated: number;
  readonly histogram: readonly number[];
  readonly largest: readonly { readonly index: readonly number[]; readonly value: string }[];
}

export interface Element {
  readonly stored: string;
  readonly bits: string;
  readonly binary?: string;
  readonly actual: string;
  readonly reference?: string;
  readonly error?: string;
}

export type Format = "npy" | "npz" | "csv" | "png";

export type FromView =
  | { readonly type: "ready" }
  | {
      readonly type: "save";
      readonly format: Format;
      readonly subject: Subject;
      readonly of: Source;
      readonly picture?: string | undefined;
    };

export type ToView =
  { readonly type: "show"; readonly subject: Subject } | { readonly type: "stopped" } | { readonly type: "ended" };
