import * as vscode from "vscode";
import { SETTINGS } from "../contributions";
import { log, showWithLog } from "../log";
import { textOf } from "../protocol/errors";
import { installInto, makeEnvironment, type Place } from "./environment";
import { isNewEnough, type Search } from "./find";
import { isExecutable, pythonsOnPath, thisMachine } from "./machine";
import { change, clear, effective } from "./settings";
import { isOlder, MINIMUM_PYTHON, shown } from "./versions";
import { notFound } from "./words";

/** What may be installed, where, and the version of the extension, which the debugger must not be older than. */
interface Wanted extends Place {
  readonly version: string;
}

/**
 * The one question to a user without a debugger, or with one that shall be replaced. True when there is one now.
 *
 * `search`: what found nothing; undefined if the user wants another debugger. `scope`: whose settings are meant.
 */
export async function ask(
  search: Search | undefined,
  scope: vscode.Uri | undefined,
  installation: Wanted,
): Promise<boolean> {
  if (!(await mayReplaceCommand(scope))) return false;
  const install = vscode.l10n.t("Install into a Private Environment");
  const choose = vscode.l10n.t("Choose Python...");
  for (const { path, reason, version } of search?.rejected ?? []) log().warn(`${path}: ${reason} ${version}`.trim());
  const show = search ? vscode.window.showErrorMessage : vscode.window.showInformationMessage;
  const answer = await showWithLog(
    show,
    search
      ? vscode.l10n.t("TDB: {0}", notFound(search, installation.version))
      : vscode.l10n.t("TDB: Which debugger shall be used?"),
    {
      modal: true,
      detail: vscode.l10n.t(
        "The private environment is a folder of this extension; no other Python is changed. It needs Python {0} or newer and access to a package registry.",
        shown(MINIMUM_PYTHON),
      ),
    },
    install,
    choose,
  );
  const isDone =
    answer === install
      ? await installPrivately(scope, installation)
      : answer === choose && (await choosePython(scope, installation));
  if (isDone) await clear(SETTINGS.command, scope);
  return isDone;
}

/** Whether the user's own command line, which comes before any other debugger, may be given up. */
async function mayReplaceCommand(scope: vscode.Uri | undefined): Promise<boolean> {
  const command = effective(SETTINGS.command, scope);
  if (command === "") return true;
  const replace = vscode.l10n.t("Replace It...");
  const answer = await vscode.window.showWarningMessage(
    vscode.l10n.t("TDB: The command line in tdb.adapter.command comes before every other debugger."),
    {
      modal: true,
      detail: vscode.l10n.t(
        "It is: {0}\nWhen another debugger is ready, the setting is cleared; the log keeps this value.",
        command,
      ),
    },
    replace,
  );
  return answer === replace;
}

async function installPrivately(scope: vscode.Uri | undefined, installation: Wanted): Promise<boolean> {
  if (!(await attempt((report, token) => makeEnvironment(installation, report, token)))) return false;
  // An interpreter that is named is the only one that is tried.
  await clear(SETTINGS.interpreter, scope);
  return true;
}

type Work = (report: (text: string) => void, token: vscode.CancellationToken) => Promise<void>;

/** Do what takes a while, with progress, and say what went wrong. True if nothing did. */
async function attempt(work: Work): Promise<boolean> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: vscode.l10n.t("Installing the debugger"),
    cancellable: true,
  };
  try {
    await vscode.window.withProgress(options, (progress, token) =>
      work((message) => {
        progress.report({ message });
      }, token),
    );
    return true;
  } catch (error) {
    if (error instanceof vscode.CancellationError) return false;
    log().error(textOf(error));
    const text = vscode.l10n.t("TDB: the debugger could not be installed. {0}", textOf(error));
    void showWithLog(vscode.window.showErrorMessage, text, {});
    return false;
  }
}

interface PythonItem extends vscode.QuickPickItem {
  /** Undefined: look for one in the file system. */
  readonly path: string | undefined;
  readonly hasAdapter: boolean;
}

/** Let the user choose an interpreter; the debugger is installed for it where it is not. */
async function choosePython(scope: vscode.Uri | undefined, installation: Wanted): Promise<boolean> {
  const browse: PythonItem = { label: vscode.l10n.t("Find another..."), path: undefined, hasAdapter: false };
  const chosen = await vscode.window.showQuickPick([...(await pythons(installation)), browse], {
    title: vscode.l10n.t("Python for the debugger"),
    placeHolder: vscode.l10n.t(
      "Python {0} or newer; tdb-dap is installed for it if it is not yet",
      shown(MINIMUM_PYTHON),
    ),
  });
  if (chosen === undefined) return false;
  const item = chosen.path === undefined ? await browsed(installation) : chosen;
  const path = item?.path;
  if (item === undefined || path === undefined) return false;
  if (!item.hasAdapter && !(await attempt((report, token) => installInto(path, installation, report, token))))
    return false;
  await change(SETTINGS.interpreter, scope, path);
  return true;
}

/** Every Python on PATH that is new enough. */
async function pythons(installation: Wanted): Promise<PythonItem[]> {
  const items = await Promise.all(pythonsOnPath().map((path) => described(path, installation)));
  return items.filter((item) => item !== undefined);
}

async function described(path: string, installation: Wanted): Promise<PythonItem | undefined> {
  const about = await thisMachine.interpreter(path);
  if (about === undefined || isOlder(about.python, MINIMUM_PYTHON)) return undefined;
  const hasAdapter = about.version !== null && isNewEnough(about.version, installation.version);
  const description = about.version === null ? "" : `tdb-dap ${about.version}`;
  return { label: `Python ${about.python.join(".")}`, detail: path, description, path, hasAdapter };
}

async function browsed(installation: Wanted): Promise<PythonItem | undefined> {
  const [file] = (await vscode.window.showOpenDialog({ title: vscode.l10n.t("Python for the debugger") })) ?? [];
  if (file === undefined) return undefined;
  const item = isExecutable(file.fsPath) ? await described(file.fsPath, installation) : undefined;
  if (item === undefined) {
    const minimum = shown(MINIMUM_PYTHON);
    void vscode.window.showErrorMessage(
      vscode.l10n.t("TDB: {0} is no Python {1} or newer; choose an interpreter.", file.fsPath, minimum),
    );
  }
  return item;
}
