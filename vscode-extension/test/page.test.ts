// First, so that the page finds it under the name vscode.
import { nonceOf, pages, panel } from "./editorState";
import "./vscode";
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import type * as vscode from "vscode";
import { Page } from "../src/panels/page";

const kinds = (received: readonly unknown[]) => received.map((message) => (message as { type: string }).type);
const ROOT = "root" as unknown as vscode.Uri;

/** A page in a panel; `tick`: how often it has been loaded, and how many panels it has had, after some seconds. */
function shown(options: vscode.WebviewPanelOptions = {}) {
  const received: unknown[] = [];
  const made: { loads: number; html: string; page: (typeof pages)[number] }[] = [];
  const open = () => {
    const holder = panel("", "Graph", undefined, options);
    const page = pages.at(-1) ?? assert.fail();
    made.push({ loads: 0, html: "", page });
    return holder as unknown as vscode.WebviewPanel;
  };
  const page = new Page<{ readonly type: string }>(
    ROOT,
    "graph",
    "Graph",
    (message) => received.push(message),
    () => {
      page.fill(open());
    },
  );
  page.fill(open());
  /** Loads of each panel so far, told by the nonce. */
  const look = () => {
    for (const one of made) {
      if (one.html !== one.page.html) one.loads++;
      one.html = one.page.html;
    }
    return made.map(({ loads }) => loads);
  };
  const after = (seconds: number) => {
    for (let passed = 0; passed < seconds; passed++) {
      look();
      mock.timers.tick(1000);
    }
    return look();
  };
  const last = () => made.at(-1)?.page ?? assert.fail();
  return { after, last, page, received };
}

describe("a page in a webview", () => {
  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout"] });
  });
  afterEach(() => {
    mock.timers.reset();
    pages.length = 0;
  });

  it("is left alone once its script has started", () => {
    const { after, last, received } = shown();
    assert.deepEqual(after(1), [1]);
    last().start();
    assert.deepEqual(after(100), [1]);
    assert.deepEqual(kinds(received), ["ready"]);
  });

  it("is loaded again where it stays silent, then in another panel, and not for ever", () => {
    const { after } = shown();
    assert.deepEqual(after(2), [2]);
    assert.deepEqual(after(2), [2], "it may only be slow");
    assert.deepEqual(after(1), [3]);
    assert.deepEqual(after(5), [3, 1]);
    assert.deepEqual(after(7), [3, 2]);
    assert.deepEqual(after(1000), [3, 2]);
  });

  it("starts in the second panel, and hears no longer of the first", () => {
    const { after, last, page, received } = shown();
    const first = last();
    after(14);
    first.said.fire({ type: "late" });
    first.close();
    last().start();
    assert.deepEqual(kinds(received), ["ready"]);
    assert.deepEqual(after(100), [3, 1]);
    page.send({ type: "stopped" });
    assert.deepEqual([first.heard, last().heard], [[], [{ type: "stopped" }]]);
  });

  it("is loaded again where only the page before it has started", () => {
    const { after, last } = shown();
    const slow = nonceOf(last().html);
    assert.deepEqual(after(2), [2]);
    last().said.fire({ type: "ready", nonce: slow });
    assert.deepEqual(after(4), [3]);
    last().start();
    assert.deepEqual(after(100), [3]);
  });

  it("is not loaded again while it is hidden", () => {
    const { after, last } = shown();
    last().show(false);
    assert.deepEqual(after(100), [1]);
    last().show(true);
    assert.deepEqual(after(1), [1]);
    assert.deepEqual(after(1), [2]);
  });

  it("has to start again each time it is shown, unless it is kept", () => {
    for (const [retainContextWhenHidden, loads] of [
      [false, [2]],
      [true, [1]],
    ] as const) {
      const { after, last } = shown({ retainContextWhenHidden });
      last().start();
      last().show(false);
      last().show(true);
      assert.deepEqual(after(3), loads);
    }
  });

  it("is over with its panel", () => {
    const { after, last, page } = shown();
    last().close();
    assert.deepEqual(after(100), [1]);
    page.send({ type: "stopped" });
    assert.deepEqual(pages, []);
  });
});
