/** Types of a request of the adapter by its name. */
import type { Requests } from "./generated";

export type RequestName = keyof Requests;
export type Body<Name extends RequestName> = Requests[Name]["body"];

/** The arguments, which may be left out where none is required. */
export type Rest<Name extends RequestName> =
  Record<string, never> extends Requests[Name]["arguments"]
    ? [Requests[Name]["arguments"]?]
    : [Requests[Name]["arguments"]];

/** The body of any of them. */
export type Answered = Body<RequestName>;
