import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { COMMANDS, DEBUG_TYPE } from "../contributions";
import { textOf } from "../protocol/errors";
import { request } from "../sessions/requests";

/** Data of a model that the user can choose: an argument of a launch. */
type Kind = "inputs" | "reference";

/** The word of each in the console's `reload`. */
const WORDS: Readonly<Record<Kind, string>> = { inputs: "input", reference: "reference" };

/** Memento key of the file that was chosen for a model. */
const keyOf = (kind: Kind, program: string) => `tdb.${kind}.${program}`;

/** Inputs and a reference that the user chooses for a model, now and whenever that model is launched without them. */
export function registerData({ workspaceState }: vscode.ExtensionContext): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand(COMMANDS.reference, () => choose("reference", workspaceState)),
    vscode.commands.registerCommand(COMMANDS.input, () => choose("inputs", workspaceState)),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, {
      resolveDebugConfigurationWithSubstitutedVariables: (_, configuration) =>
        withChosen(configuration, workspaceState),
    }),
  ];
}

function dialogue(kind: Kind): vscode.OpenDialogOptions {
  return kind === "reference"
    ? {
        title: vscode.l10n.t("Reference data of this model"),
        openLabel: vscode.l10n.t("Compare"),
        filters: { npz: ["npz"] },
      }
    : {
        title: vscode.l10n.t("Input data of this model"),
        openLabel: vscode.l10n.t("Load"),
        filters: { "npz, npy, dat": ["npz", "npy", "dat"] },
      };
}

async function choose(kind: Kind, state: vscode.Memento): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== DEBUG_TYPE) {
    void vscode.window.showInformationMessage(vscode.l10n.t("TDB: debug a model first, then choose its data."));
    return;
  }
  const { program } = session.configuration as { readonly program?: unknown };
  const [file] = (await vscode.window.showOpenDialog(dialogue(kind))) ?? [];
  if (file === undefined) return;
  try {
    const { ordinal } = await request(session, "tdb/moment");
    const expression = ["reload", WORDS[kind], `"${file.fsPath}"`].join(" ");
    await session.customRequest("evaluate", { expression, context: "repl" });
    if (ordinal > 0) await request(session, "tdb/travel", { ordinal }); // loaded again, it stands at its start
    if (typeof program === "string") await state.update(keyOf(kind, program), file.fsPath);
  } catch (error) {
    void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}", textOf(error)));
  }
}

/** The configuration with the files that were chosen before, where it names none and they are still there. */
function withChosen(configuration: vscode.DebugConfiguration, state: vscode.Memento): vscode.DebugConfiguration {
  const { program } = configuration as { readonly program?: unknown };
  const isAnswer = configuration.prompt !== undefined; // it is compared with a float model, not with tensors of a net
  if (configuration.request === "attach" || typeof program !== "string" || isAnswer) return configuration;
  const chosen = (["inputs", "reference"] as const).map((kind) => {
    const file = configuration[kind] === undefined ? state.get<string>(keyOf(kind, program)) : undefined;
    return file !== undefined && existsSync(file) ? { [kind]: file } : {};
  });
  return Object.assign({ ...configuration }, ...chosen) as vscode.DebugConfiguration;
}
