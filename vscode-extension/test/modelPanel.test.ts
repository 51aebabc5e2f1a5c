// First, so that the panel finds it under the name vscode.
import "./vscode";
import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import type * as vscode from "vscode";
import type { PageName } from "../src/panels/frame";
import { ModelPanel } from "../src/panels/modelPanel";
import type { CurrentProgram } from "../src/programs/current";
import { EventEmitter, pages, panel } from "./editorState";

const MODEL = { program: "/models/yolo" };

/** A view of a page, over programs that can be looked at. */
function viewOf(name: PageName, canOpen = true) {
  const opened: unknown[] = [];
  const closed: unknown[] = [];
  const programs = {
    current: { name: "yolo", model: MODEL, session: undefined },
    onDidChange: new EventEmitter().event,
    onDidStop: new EventEmitter().event,
    open: (_: object, model: unknown) => {
      opened.push(model);
      return Promise.resolve(canOpen);
    },
    close: (view: object) => closed.push(view),
  };
  const view = new ModelPanel(name, name, "/extension" as never, programs as unknown as CurrentProgram);
  /** As VS Code brings a tab back after a reload of the window. */
  const restored = async (state: unknown) => {
    let isClosed = false;
    const tab = { ...panel("", name), dispose: () => (isClosed = true) };
    const page = pages.at(-1);
    await view.deserializeWebviewPanel(tab as unknown as vscode.WebviewPanel, state as never);
    return { tab, page, isClosed };
  };
  return { opened, closed, restored, view };
}

describe("a view after a reload of the window", () => {
  for (const name of ["memory", "graph", "timeline"] as const)
    it(`shows the model that it has shown: ${name}`, async () => {
      const { opened, restored } = viewOf(name);
      const { tab, page, isClosed } = await restored({ model: MODEL });
      assert.equal(isClosed, false);
      assert.deepEqual(opened, [MODEL]);
      assert.match(tab.webview.html, new RegExp(`${name}\\.js`));
      page?.said.fire({ type: "ready" });
      assert.deepEqual(page?.heard, [{ type: "session", name: "yolo", model: MODEL, isDebugged: false }]);
    });

  it("is closed where it shows nothing without a session", async () => {
    for (const name of ["compare", "answer", "trace"] as const) {
      const { opened, restored } = viewOf(name);
      assert.equal((await restored({ model: MODEL })).isClosed, true);
      assert.deepEqual(opened, []);
    }
  });

  it("is closed where its model is not known, or cannot be read any more", async () => {
    assert.equal((await viewOf("graph").restored(undefined)).isClosed, true);
    assert.equal((await viewOf("graph", false).restored({ model: MODEL })).isClosed, true);
  });
});

describe("a view that VS Code leaves blank", () => {
  it("comes in another panel of the same column, and keeps its model", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      pages.length = 0;
      const { opened, closed, view } = viewOf("compare");
      await view.show();
      const [blank] = pages;
      for (let second = 0; second < 14; second++) mock.timers.tick(1000);
      assert.deepEqual(
        pages.map((page) => [page === blank, page.column]),
        [[false, 2]],
      );
      assert.deepEqual([opened, closed], [[undefined], []]);
      pages[0]?.said.fire({ type: "ready" });
      assert.deepEqual(pages[0]?.heard, [{ type: "session", name: "yolo", model: MODEL, isDebugged: false }]);
      pages[0].close();
      assert.deepEqual(closed, [view]);
    } finally {
      mock.timers.reset();
    }
  });
});
