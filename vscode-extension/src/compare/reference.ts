import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { COMMANDS, DEBUG_TYPE } from "../contributions";
import { textOf } from "../protocol/errors";
import { request } from "../sessions/requests";

/** Memento key of the reference that was chosen for a model. */
const keyOf = (program: string) => `tdb.reference.${program}`;

/** A reference that the user chooses for a model, now and whenever that model is launched without one. */
export function registerReference({ workspaceState }: vscode.ExtensionContext): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand(COMMANDS.reference, () => chooseReference(workspaceState)),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, {
      resolveDebugConfigurationWithSubstitutedVariables: (_, configuration) =>
        withReference(configuration, workspaceState),
    }),
  ];
}

async function chooseReference(state: vscode.Memento): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== DEBUG_TYPE) {
    void vscode.window.showInformationMessage(vscode.l10n.t("TDB: debug a model first, then choose its reference."));
    return;
  }
  const { program } = session.configuration as { readonly program?: unknown };
  const [file] =
    (await vscode.window.showOpenDialog({
      title: vscode.l10n.t("Reference data of this model"),
      openLabel: vscode.l10n.t("Compare"),
      filters: { npz: ["npz"] },
    })) ?? [];
  if (file === undefined) return;
  try {
    const { ordinal } = await request(session, "tdb/moment");
    const expression = ["reload", "reference", `"${file.fsPath}"`].join(" ");
    await session.customRequest("evaluate", { expression, context: "repl" });
    if (ordinal > 0) await request(session, "tdb/travel", { ordinal }); // loaded again, it stands at its start
    if (typeof program === "string") await state.update(keyOf(program), file.fsPath);
  } catch (error) {
    void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
  }
}

/** The configuration with the reference that was chosen before, where it names none and the file is still there. */
function withReference(configuration: vscode.DebugConfiguration, state: vscode.Memento): vscode.DebugConfiguration {
  const { program, reference } = configuration as { readonly program?: unknown; readonly reference?: unknown };
  const isAnswer = configuration.prompt !== undefined; // it is compared with a float model, not with tensors of a net
  if (configuration.request === "attach" || typeof program !== "string" || reference !== undefined || isAnswer)
    return configuration;
  const chosen = state.get<string>(keyOf(program));
  return chosen !== undefined && existsSync(chosen) ? { ...configuration, reference: chosen } : configuration;
}
