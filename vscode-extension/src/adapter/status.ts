import * as vscode from "vscode";
import { COMMANDS, DEBUG_TYPE, LANGUAGES } from "../contributions";
import type { Found } from "./find";
import type { Installation } from "./installation";
import { foundName } from "./words";

const TEXTS = [{ language: LANGUAGES.asm }, { language: LANGUAGES.mlir, pattern: "**/*final.mlir" }];

/** Which debugger is used, in the status bar beside the texts of a model and during a session. */
export function registerStatus(installation: Installation): { dispose(): unknown }[] {
  const item = vscode.window.createStatusBarItem("tdb.debugger", vscode.StatusBarAlignment.Right, 100);
  item.name = vscode.l10n.t("TDB: Debugger");
  item.command = COMMANDS.diagnostics;
  let isKnown = false;
  const show = (found: Found | undefined) => {
    isKnown = true;
    item.text = found ? foundName(found) : `$(warning) ${vscode.l10n.t("TDB: not installed")}`;
    const path = found ? [found.command.executable, ...found.command.args].join(" ") : "";
    item.tooltip = `${path}\n${vscode.l10n.t("Click for diagnostics")}`.trim();
    update();
  };
  const update = () => {
    const document = vscode.window.activeTextEditor?.document;
    const isOurs = document !== undefined && vscode.languages.match(TEXTS, document) > 0;
    if (isKnown && (isOurs || vscode.debug.activeDebugSession?.type === DEBUG_TYPE)) item.show();
    else item.hide();
  };
  return [
    item,
    installation.onDidSearch(show),
    vscode.window.onDidChangeActiveTextEditor(update),
    vscode.debug.onDidChangeActiveDebugSession(update),
  ];
}
