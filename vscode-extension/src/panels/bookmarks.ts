import type * as vscode from "vscode";
import type { Mark } from "../protocol/messages";

/** Moments that the user has marked, kept for each model in the workspace. */
export class Bookmarks {
  constructor(private readonly state: Pick<vscode.Memento, "get" | "update">) {}

  of(session: Pick<vscode.DebugSession, "configuration"> | undefined): Mark[] {
    const key = session && keyOf(session);
    return key === undefined ? [] : this.kept(key).map((ordinal) => ({ ordinal, kind: "bookmark", text: "" }));
  }

  async toggle(session: Pick<vscode.DebugSession, "configuration">, ordinal: number): Promise<void> {
    const key = keyOf(session);
    if (key === undefined) return;
    const kept = this.kept(key);
    const others = kept.filter((one) => one !== ordinal);
    await this.state.update(key, others.length < kept.length ? others : [...kept, ordinal].sort((a, b) => a - b));
  }

  private kept(key: string): readonly number[] {
    return this.state.get<readonly number[]>(key) ?? [];
  }
}

/** Undefined for a session that names no model: it was attached to. */
function keyOf({ configuration }: Pick<vscode.DebugSession, "configuration">): string | undefined {
  const { program } = configuration as { readonly program?: unknown };
  return typeof program === "string" ? `tdb.bookmarks.${program}` : undefined;
}
