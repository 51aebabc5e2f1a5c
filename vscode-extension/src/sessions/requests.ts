import type { Body, RequestName, Rest } from "../protocol/requests";

/** What answers requests: a debug session, or a model that is loaded without one. */
export interface Asked {
  customRequest(name: string, rest?: unknown): Thenable<unknown>;
}

/** Ask the adapter of a session or a model; rejects with what it says against it. */
export async function request<Name extends RequestName>(
  asked: Asked,
  name: Name,
  ...[rest]: Rest<Name>
): Promise<Body<Name>> {
  return (await asked.customRequest(name, rest)) as Body<Name>;
}
