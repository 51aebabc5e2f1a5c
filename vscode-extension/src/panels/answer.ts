import * as vscode from "vscode";
import type { Asked } from "../sessions/requests";
import { textOf } from "../protocol/errors";
import type { Answer, Ask } from "../protocol/messages";
import type { Answered } from "../protocol/requests";

/** Pages may ask for what the adapter knows about the model, and nothing else. */
const REQUESTS = "tdb/";

/** The adapter's answer to a page's request; without a model, or for a request that pages cannot send, an error. */
export async function answer(asked: Asked | undefined, { id, request, arguments: rest }: Ask): Promise<Answer> {
  if (asked === undefined) return { type: "answer", id, error: vscode.l10n.t("no model is open") };
  if (!request.startsWith(REQUESTS))
    return { type: "answer", id, error: vscode.l10n.t("a view cannot send the request {0}", request) };
  try {
    return { type: "answer", id, body: (await asked.customRequest(request, rest)) as Answered };
  } catch (error) {
    return { type: "answer", id, error: textOf(error) };
  }
}
