import * as vscode from "vscode";
import { COMMANDS, DEBUG_TYPE } from "../../contributions";
import { expressionAt } from "../../hover/provider";
import { textOf } from "../../protocol/errors";
import type { Subject } from "../../protocol/messages";
import type { Contents } from "../../container/contents";
import type { Lease } from "../../programs/pool";
import type { SessionHub } from "../../sessions/hub";
import { request } from "../../sessions/requests";
import { TENSOR_VIEW, TensorPanel } from "./panel";
import { showWriter } from "./writer";

/** Argument of a command in the context menu of a variable; a watch has only the variable's `name`. */
interface VariableContext {
  readonly sessionId?: string;
  readonly variable?: { readonly name: string; readonly evaluateName?: string };
}

const panels = new Set<TensorPanel>();
/** What panels of models look at that are not being debugged. */
const leases = new Map<TensorPanel, Lease>();

/** `choose`: shows a tensor where there is no session. */
export function registerTensorViews(
  context: vscode.ExtensionContext,
  hub: SessionHub,
  contents: Contents,
  choose: () => Promise<void>,
): vscode.Disposable[] {
  const each = (act: (panel: TensorPanel) => void) => (session: vscode.DebugSession) => {
    for (const panel of panels) if (panel.program.id === session.id) act(panel);
  };
  const renew = each((panel) => {
    panel.stopped();
  });
  const end = each((panel) => {
    panel.ended();
  });
  return [
    // A tensor is gone with its session: after a reload of the window its tab would stay empty.
    vscode.window.registerWebviewPanelSerializer(TENSOR_VIEW, {
      deserializeWebviewPanel: (panel) => {
        panel.dispose();
        return Promise.resolve();
      },
    }),
    vscode.commands.registerCommand(COMMANDS.viewTensor, (from?: unknown) =>
      viewTensor(context.extensionUri, from, choose),
    ),
    vscode.commands.registerCommand(COMMANDS.history, (from?: unknown) =>
      viewTensor(context.extensionUri, from, choose, true),
    ),
    vscode.commands.registerCommand(COMMANDS.writer, (from?: unknown) => whoWrote(from)),
    // Views follow the program: after each stop, and when memory is edited.
    hub.onStopped(renew),
    hub.onEdited(renew),
    hub.onEnded(end),
    contents.onDidChange((program) => {
      for (const [panel, lease] of leases) if (lease.program === program) void renewStatic(panel, lease, contents);
    }),
  ];
}

/** The model has been compiled anew. What was shown stays where the new one cannot be read. */
async function renewStatic(panel: TensorPanel, old: Lease, contents: Contents): Promise<void> {
  const { model } = old.program;
  const lease = model && (await contents.program(model).catch(() => undefined));
  if (lease === undefined) return;
  if (leases.get(panel) !== old) {
    lease.release(); // closed meanwhile, or turned to a still newer one
    return;
  }
  leases.set(panel, lease);
  panel.turnTo(lease.program);
  old.release();
}

/** Show a tensor of a model that is not being debugged: its bytes are those of the file. Gives the lease back. */
export async function viewStaticTensor(root: vscode.Uri, lease: Lease, expression: string): Promise<void> {
  try {
    const description = await request(lease.program, "tdb/tensor", { expression });
    const panel = new TensorPanel(root, lease.program, { expression }, description, (closed) => {
      panels.delete(closed);
      leases.get(closed)?.release();
      leases.delete(closed);
    });
    panels.add(panel);
    leases.set(panel, lease);
  } catch (error) {
    lease.release();
    void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}: {1}", expression, textOf(error)));
  }
}

/** `history`: with all versions of it. */
async function viewTensor(
  root: vscode.Uri,
  from: unknown,
  choose: () => Promise<void>,
  history = false,
): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== DEBUG_TYPE) {
    await choose();
    return;
  }
  const expression = expressionOf(from) ?? (await ask());
  if (expression === undefined) return;
  const frameId = frameOf(session);
  const named: Subject = { expression, ...(frameId !== undefined && { frameId }) };
  try {
    const description = await request(session, "tdb/tensor", named);
    // From here on by the moment: the numbers of frames are void after the next step.
    const { focus, level } = description;
    const ordinal = isWanted(from) ? from.ordinal : undefined;
    panels.add(
      new TensorPanel(
        root,
        session,
        { expression, focus, level, ordinal },
        description,
        (panel) => panels.delete(panel),
        history,
      ),
    );
  } catch (error) {
    void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}: {1}", expression, textOf(error)));
  }
}

/** Where the bytes of what a menu names are, as the page of chip memory takes it; undefined: a message says why not. */
export async function bytesOf(from: unknown): Promise<{ address: string; dtype: string } | undefined> {
  const session = vscode.debug.activeDebugSession;
  const expression = expressionOf(from) ?? (await ask());
  if (session?.type !== DEBUG_TYPE || expression === undefined) return undefined;
  const frameId = frameOf(session);
  try {
    const named: Subject = { expression, ...(frameId !== undefined && { frameId }) };
    const { memory, dtype } = await request(session, "tdb/tensor", named);
    if (memory !== undefined) return { address: memory, dtype };
    void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0} is computed, not in memory.", expression));
  } catch (error) {
    void vscode.window.showErrorMessage(vscode.l10n.t("TDB: {0}: {1}", expression, textOf(error)));
  }
  return undefined;
}

async function whoWrote(from: unknown): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  const expression = expressionOf(from) ?? (await ask());
  if (session?.type !== DEBUG_TYPE || expression === undefined) return;
  await showWriter(session, expression, frameOf(session));
}

/** The frame that names are looked up in. */
function frameOf(session: vscode.DebugSession): number | undefined {
  const frame = vscode.debug.activeStackItem;
  return frame instanceof vscode.DebugStackFrame && frame.session.id === session.id ? frame.frameId : undefined;
}

/** What pages of the extension ask for. */
interface Wanted {
  readonly expression: string;
  readonly ordinal?: number | undefined;
}

function isWanted(from: unknown): from is Wanted {
  return typeof (from as Partial<Wanted> | undefined)?.expression === "string";
}

/** The expression of a menu's variable or watch, or under the cursor of the editor whose menu was used. */
function expressionOf(from: unknown): string | undefined {
  if (typeof from === "string") return from;
  if (isWanted(from)) return from.expression;
  if (from instanceof vscode.Uri) return underCursor();
  const variable = (from as VariableContext | undefined)?.variable;
  return variable?.evaluateName ?? variable?.name ?? (from as { name?: string } | undefined)?.name;
}

function underCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && expressionAt(editor.document, editor.selection.active)?.expression;
}

function ask(): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: vscode.l10n.t("Tensor"),
    prompt: vscode.l10n.t(
      "A value, an operand, a location, a range of memory, or an expression of these: {0}",
      '%16, in[0], #loc("conv1"), R0:f16[1,64,8,8]',
    ),
    value: underCursor() ?? "in[0]",
  });
}
