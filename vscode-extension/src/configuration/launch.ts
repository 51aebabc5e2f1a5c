import * as vscode from "vscode";
import { DEBUG_TYPE } from "../contributions";
import { chosenPart } from "./parts";
import { titleOf } from "./program";

/** The configuration of a session that is started without a launch.json; the adapter finds the model's data. */
export function launchConfiguration(program: string): vscode.DebugConfiguration {
  return {
    type: DEBUG_TYPE,
    request: "launch",
    name: vscode.l10n.t("TDB: {0}", titleOf(program)),
    program,
    ...chosenPart(program),
    // Who has set a breakpoint wants to get there; who has set none would see the model run through.
    stopOnEntry: !vscode.debug.breakpoints.some((breakpoint) => breakpoint.enabled),
  };
}
