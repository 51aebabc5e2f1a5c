/** The container "TPU" in the activity bar, and the editor of compiled models: what needs no session. */
import * as vscode from "vscode";
import type { SetUp } from "../adapter/installation";
import { COMMANDS } from "../contributions";
import { registerModelEditor } from "../panels/bmodelEditor";
import { registerTensorViews } from "../panels/tensor/command";
import { CurrentProgram } from "../programs/current";
import type { ProgramPool } from "../programs/pool";
import { registerStaticSources } from "../programs/sources";
import type { CurrentSession } from "../sessions/current";
import type { SessionHub } from "../sessions/hub";
import { registerModelPanels } from "../panels/modelPanels";
import { Contents } from "./contents";
import { registerFindings } from "./findings";
import { Links } from "./links";
import { registerMemory } from "./memory";
import { registerModels } from "./models";
import type { Node } from "./nodes";

export function registerContainer(
  context: vscode.ExtensionContext,
  hub: SessionHub,
  sessions: CurrentSession,
  pool: ProgramPool,
  installation: SetUp,
): { dispose(): unknown }[] {
  const root = context.extensionUri;
  const programs = new CurrentProgram(sessions, pool);
  const contents = new Contents(pool, sessions);
  const links = new Links(root, contents);
  const chooseTensor = async () => {
    const model = programs.current?.model ?? (await programs.choose());
    if (model !== undefined) await links.chooseTensor(model);
  };
  const chooseLaunch = async (node?: Partial<Node>) => {
    const model = node?.model ?? programs.current?.model ?? (await programs.choose());
    if (model !== undefined) await links.chooseLaunch(model);
  };
  return [
    vscode.commands.registerCommand(COMMANDS.launch, chooseLaunch),
    programs,
    contents,
    ...registerStaticSources(pool),
    ...registerModels(context, installation, contents, sessions, links),
    ...registerMemory(programs),
    ...registerFindings(hub),
    ...registerModelEditor(context, installation, contents, links),
    ...registerTensorViews(context, hub, contents, chooseTensor),
    ...registerModelPanels(context, hub, sessions, programs),
  ];
}
