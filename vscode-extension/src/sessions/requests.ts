import type * as vscode from "vscode";
import type { Body, RequestName, Rest } from "../protocol/requests";

/** Ask the adapter of a session; rejects with what it says against it. */
export async function request<Name extends RequestName>(
  session: vscode.DebugSession,
  name: Name,
  ...[rest]: Rest<Name>
): Promise<Body<Name>> {
  return (await session.customRequest(name, rest)) as Body<Name>;
}
