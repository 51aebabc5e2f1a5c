// First, so that the frame finds it under the name vscode.
import { language } from "./vscode";
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type * as vscode from "vscode";
import { frame } from "../src/panels/frame";

const webview = { asWebviewUri: String, cspSource: "https://resources" } as unknown as vscode.Webview;
const page = () => frame(webview, "root" as unknown as vscode.Uri, "graph", "Graph");
const data = (html: string) => /<script type="application\/json" id="l10n">(.*?)<\/script>/s.exec(html)?.[1];

describe("the HTML around a page", () => {
  afterEach(() => {
    Object.assign(language, { code: "en", bundle: undefined });
  });

  it("runs one script, which has the nonce of the policy", () => {
    const html = page();
    const nonce = /script-src 'nonce-([^']+)'/.exec(html)?.[1] ?? assert.fail(html);
    assert.match(html, /default-src 'none'/);
    assert.deepEqual(html.match(/<script[^>]*>/g), [`<script nonce="${nonce}" src="root/dist/graph.js">`]);
    assert.notEqual(html, page(), "another nonce each time");
  });

  it("is in English unless the editor is in another language", () => {
    assert.match(page(), /<html lang="en">/);
    assert.equal(data(page()), undefined);
  });

  it("brings the translations as data, which no text can leave", () => {
    const bundle = { Graph: "计算图", "{0} < {1}": "</script><script>alert(1)</script>" };
    Object.assign(language, { code: "zh-cn", bundle });
    const html = page();
    assert.match(html, /<html lang="zh-cn">/);
    assert.deepEqual(JSON.parse(data(html) ?? assert.fail(html)), bundle);
    assert.equal(html.match(/<script/g)?.length, 2);
  });
});
