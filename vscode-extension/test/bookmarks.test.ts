// First, so that the sources find it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Bookmarks } from "../src/panels/bookmarks";

/** What VS Code keeps for a workspace. */
function memento() {
  const kept = new Map<string, unknown>();
  return {
    get: (key: string) => kept.get(key) as never,
    update: (key: string, value: unknown) => {
      kept.set(key, value);
      return Promise.resolve();
    },
  };
}
const session = (program?: string) => ({ configuration: { type: "tdb", name: "", request: "launch", program } });

describe("bookmarks", () => {
  it("are kept for each model, in the order of time, and given back by the same button", async () => {
    const state = memento();
    const bookmarks = new Bookmarks(state);
    for (const ordinal of [30, 5, 12]) await bookmarks.toggle(session("/a"), ordinal);
    await bookmarks.toggle(session("/b"), 7);
    await bookmarks.toggle(session("/a"), 12);
    const ordinals = (program: string) => new Bookmarks(state).of(session(program)).map(({ ordinal }) => ordinal);
    assert.deepEqual([ordinals("/a"), ordinals("/b"), ordinals("/c")], [[5, 30], [7], []]);
  });

  it("need a model that has a name", async () => {
    const bookmarks = new Bookmarks(memento());
    await bookmarks.toggle(session(), 3);
    assert.deepEqual([bookmarks.of(session()), bookmarks.of(undefined)], [[], []]);
  });
});
