/** Figures of a model as texts. */
import * as vscode from "vscode";
import { count } from "../../pages/shared/text";

export { bytes as bytesText } from "../../pages/shared/text";

export function commandsText(commands: number): string {
  return commands === 1 ? vscode.l10n.t("1 command") : vscode.l10n.t("{0} commands", count(commands));
}

/** `f32[1,3,32,32]` */
export function typeText({ dtype, shape }: { readonly dtype: string; readonly shape: readonly number[] }): string {
  return `${dtype}[${shape.join(",")}]`;
}
