/** What is said about the places where the debugger was looked for. */
import * as vscode from "vscode";
import type { Found, Origin, Rejected, Search } from "./find";
import { MINIMUM_PYTHON, shown } from "./versions";

/** Where a debugger comes from, in a word or two. */
export function originName(origin: Origin): string {
  switch (origin) {
    case "setting":
      return vscode.l10n.t("from the settings");
    case "workspace":
      return vscode.l10n.t("of the workspace");
    case "selected":
      return vscode.l10n.t("of the selected interpreter");
    case "private":
      return vscode.l10n.t("private environment");
    case "bundled":
      return vscode.l10n.t("bundled");
    case "path":
      return vscode.l10n.t("on PATH");
  }
}

/** "TDB 0.1.0 (bundled)". */
export function foundName({ version, origin }: Found): string {
  const name = originName(origin);
  return version === undefined ? vscode.l10n.t("TDB ({0})", name) : vscode.l10n.t("TDB {0} ({1})", version, name);
}

/** One line about a place that was passed over. */
export function rejectedLine({ path, reason, version }: Rejected, extension: string): string {
  switch (reason) {
    case "absent":
      return vscode.l10n.t("{0}: tdb-dap is not installed there", path);
    case "unusable":
      return vscode.l10n.t("{0}: it does not start", path);
    case "old python":
      return vscode.l10n.t("{0}: it is Python {1}; tdb-dap needs {2} or newer", path, version, shown(MINIMUM_PYTHON));
    case "older":
      return vscode.l10n.t("{0}: tdb-dap {1} is older than the extension, {2}", path, version, extension);
  }
}

/** One message for a search that found nothing: the most telling reason first. */
export function notFound({ rejected }: Search, extension: string): string {
  const said = (wanted: Rejected["reason"]) => rejected.find(({ reason }) => reason === wanted);
  const chosen = rejected.find(({ origin }) => origin === "setting");
  if (chosen !== undefined)
    return vscode.l10n.t("The interpreter in the settings cannot be used. {0}.", rejectedLine(chosen, extension));
  const older = said("older");
  if (older !== undefined)
    return vscode.l10n.t("The debugger that was found is too old. {0}.", rejectedLine(older, extension));
  const unusable = rejected.filter(({ reason }) => reason === "unusable");
  // What was made for the debugger, or for the project; a program on PATH that does not start is seldom anybody's.
  const broken = unusable.filter(({ origin }) => origin !== "path");
  if (broken.length === 0 && said("absent") !== undefined) return vscode.l10n.t("The debugger is not installed yet.");
  const old = said("old python");
  const telling = broken.length > 0 ? broken : old !== undefined ? [old] : unusable;
  if (telling.length > 0) {
    const lines = telling.map((place) => rejectedLine(place, extension));
    return vscode.l10n.t("The debugger is not installed yet. {0}.", lines.join("; "));
  }
  return vscode.l10n.t("The debugger is not installed yet, and no Python was found on this machine.");
}
