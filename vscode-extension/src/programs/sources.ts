/** Showing lines of a program's sources: final.mlir, and the listing of its commands. */
import * as vscode from "vscode";
import { request } from "../sessions/requests";
import { LISTING, sameModel, SCHEME, type ModelReference, type Program } from "./program";
import type { ProgramPool } from "./pool";

/** Show a line, counted from 1, beside the views. */
async function show(uri: vscode.Uri, line: number, takesKeyboard: boolean): Promise<void> {
  const start = new vscode.Position(Math.max(0, line - 1), 0);
  await vscode.window.showTextDocument(uri, {
    viewColumn: vscode.ViewColumn.One,
    selection: new vscode.Range(start, start),
    preserveFocus: !takesKeyboard,
  });
}

/**
 * Show a line of final.mlir as the adapter counts, in the file that it is of; nothing where the model has none. The
 * keyboard stays where it is unless the line `takesKeyboard`.
 */
export async function showLine(program: Program, line: number, takesKeyboard: boolean): Promise<void> {
  const place = await request(program, "tdb/moment", { line });
  if (place.source !== undefined && line >= 1)
    await show(program.uriOf(place.source), place.line ?? line, takesKeyboard);
}

/** Show the commands of a program, one in a line. */
export async function showListing(program: Program, line: number, takesKeyboard: boolean): Promise<void> {
  const { sources } = (await program.customRequest("loadedSources")) as { sources: { sourceReference?: number }[] };
  const listing = sources.find(({ sourceReference }) => sourceReference === LISTING);
  if (listing !== undefined) await show(program.uriOf(listing), line, takesKeyboard);
}

type StaticSource = ModelReference & { readonly reference: number };

/** Texts of models that are not being debugged. */
export function registerStaticSources(pool: ProgramPool): { dispose(): unknown }[] {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const watched = pool.onDidChange(({ model }) => {
    for (const { uri } of vscode.workspace.textDocuments)
      if (uri.scheme === SCHEME && sameModel(model, JSON.parse(uri.query) as StaticSource)) changed.fire(uri);
  });
  const provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changed.event,
    async provideTextDocumentContent(uri) {
      const { reference, ...model } = JSON.parse(uri.query) as StaticSource;
      const lease = await pool.acquire(model);
      try {
        const body = await lease.program.customRequest("source", { sourceReference: reference });
        return (body as { content: string }).content;
      } finally {
        lease.release();
      }
    },
  });
  return [provider, watched, changed];
}
