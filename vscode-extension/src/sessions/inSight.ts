import * as vscode from "vscode";
import { pathOf } from "../programs/uri";
import { DEBUG_TYPE } from "../contributions";
import type { SessionHub } from "./hub";

/** A frame of a stack, as the Debug Adapter Protocol has it. */
interface Frame {
  readonly id: number;
  readonly line: number;
  readonly source?: { readonly path?: string };
}

/** Where the program stands, in a file that an editor shows. */
interface Place {
  readonly session: vscode.DebugSession;
  readonly path: string;
  /** From 0. */
  readonly line: number;
}

/**
 * Keeps the line in sight at which the program stands: VS Code reveals it at the stop, but lenses that arrive later push
 * it down, and out of a small window.
 *
 * A line that goes out of sight while the first line in the window stays was pushed. Where the first line changes, the
 * user has scrolled, and the window stays as it is.
 */
export function registerInSight(hub: SessionHub): vscode.Disposable[] {
  /** The frames of each session's last stack. */
  const stacks = new Map<string, Map<number, Frame>>();
  let place: Place | undefined;
  /** The first line in the window when the line was last in sight. */
  const tops = new WeakMap<vscode.TextEditor, number>();
  const look = (editor: vscode.TextEditor, ranges: readonly vscode.Range[]) => {
    const [first] = ranges;
    const top = first?.start.line;
    if (place === undefined || top === undefined || pathOf(editor.document.uri) !== place.path) return;
    const { line } = place;
    if (ranges.some(({ start, end }) => start.line <= line && line <= end.line)) {
      tops.set(editor, top);
      return;
    }
    const isPushed = tops.get(editor) === top;
    tops.delete(editor);
    if (!isPushed) return;
    const start = new vscode.Position(line, 0);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.InCenter);
  };
  const follow = () => {
    const item = vscode.debug.activeStackItem;
    const isFrame = item !== undefined && "frameId" in item && item.session.type === DEBUG_TYPE;
    const frame = isFrame ? stacks.get(item.session.id)?.get(item.frameId) : undefined;
    const path = frame?.source?.path;
    place =
      isFrame && frame !== undefined && path !== undefined
        ? { session: item.session, path, line: frame.line - 1 }
        : undefined;
    for (const editor of vscode.window.visibleTextEditors) {
      tops.delete(editor);
      look(editor, editor.visibleRanges);
    }
  };
  return [
    hub.onMessage(({ session, message: { type, command, success, body } }) => {
      if (type !== "response" || command !== "stackTrace" || success !== true) return;
      const { stackFrames } = body as { stackFrames: readonly Frame[] };
      const known = stacks.get(session.id) ?? new Map<number, Frame>();
      for (const frame of stackFrames) known.set(frame.id, frame);
      stacks.set(session.id, known);
      follow();
    }),
    hub.onStopped(({ id }) => {
      stacks.delete(id);
    }),
    hub.onEnded((session) => {
      stacks.delete(session.id);
      if (place?.session === session) place = undefined;
    }),
    vscode.debug.onDidChangeActiveStackItem(follow),
    vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor, visibleRanges }) => {
      look(textEditor, visibleRanges);
    }),
  ];
}
