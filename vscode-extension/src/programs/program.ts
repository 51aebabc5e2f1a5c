/** A compiled model that answers questions, with or without a debug session. */
import { basename } from "node:path";
import * as vscode from "vscode";
import { titleOf } from "../configuration/program";
import type { ModelReference } from "../protocol/messages";
import type { Asked } from "../sessions/requests";
import { uriOf } from "./uri";

export type { ModelReference };

/** A source as the Debug Adapter Protocol names it. */
export interface Source {
  readonly name?: string;
  readonly path?: string;
  readonly sourceReference?: number;
}

/** A debug session, or a model that an adapter has loaded without running it. */
export interface Program extends Asked {
  readonly id: string;
  readonly name: string;
  /** Which model it is; undefined of a session whose configuration does not say. */
  readonly model: ModelReference | undefined;
  /** The session, if it is one. */
  readonly session: vscode.DebugSession | undefined;
  uriOf(source: Source): vscode.Uri;
}

/** The numbers of sources that every adapter has: docs/requests.md. */
export const LISTING = 1;

/** Sources of models that are not being debugged, where these are no files. */
export const SCHEME = "tdb-model";

/** The same text for the same model. */
export function keyOf({ program, net, stage }: ModelReference): string {
  return JSON.stringify([program, net ?? null, stage ?? null]);
}

export function sameModel(one: ModelReference | undefined, other: ModelReference): boolean {
  if (one?.program !== other.program) return false;
  // What is left out is the first net, and its first stage.
  return one.net === other.net && (one.stage ?? 0) === (other.stage ?? 0);
}

/** `toy`, or of several nets `toy, pool2d 1`. */
export function nameOf({ program, net, stage }: ModelReference): string {
  const title = titleOf(program);
  return net === undefined ? title : `${title}, ${net} ${String(stage ?? 0)}`;
}

/** A debug session as a program. */
export function sessionProgram(session: vscode.DebugSession): Program {
  const { program, net, stage } = session.configuration as vscode.DebugConfiguration & Partial<ModelReference>;
  return {
    id: session.id,
    name: session.name,
    model: program === undefined ? undefined : { program, net, stage },
    session,
    customRequest: (name: string, rest?: unknown) => session.customRequest(name, rest),
    uriOf: (source) => vscode.debug.asDebugSourceUri(source, session),
  };
}

/** Where the text of a source is, for a model that is not being debugged. */
export function staticUri(model: ModelReference, { name, path, sourceReference }: Source): vscode.Uri {
  if (path !== undefined) return uriOf(path);
  const title = name ?? basename(model.program);
  return vscode.Uri.from({
    scheme: SCHEME,
    path: `/${title}`,
    query: JSON.stringify({ ...model, reference: sourceReference ?? LISTING }),
  });
}
