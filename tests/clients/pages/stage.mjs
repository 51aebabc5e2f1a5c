// One of the extension's pages in a browser without an editor: what the extension's host does for it is done here.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openPage } from "../vscode/browser.mjs";

/** Runs in the page before its own script: what a webview has, with a queue in place of the editor. */
const HOST = `
  globalThis.acquireVsCodeApi = () => ({
    postMessage: (message) => void globalThis.toHost(message),
    getState: () => globalThis.state,
    setState: (state) => { globalThis.state = state; return state; },
  });
  globalThis.fromHost = (message) => window.postMessage(message, "*");
  globalThis.began = performance.now();
`;

export class Stage {
  /** `dist`: the built pages; `options`: of openPage. */
  static async open(dist, adapter, options) {
    const { page, close } = await openPage(options);
    return new Stage(dist, adapter, page, close);
  }

  constructor(dist, adapter, page, close) {
    Object.assign(this, { dist, adapter, page, close });
    this.errors = [];
    page.on("pageerror", (error) => this.errors.push(error.stack));
    this.exposed = page.exposeFunction("toHost", (message) => this.receive(message));
    adapter.on("stopped", () => this.send({ type: "stopped" }));
  }

  /** Show a page; `first`: the message that it is opened with; `style`: variables and the class of a theme. */
  async show(name, first = { type: "session", name: "model" }, { variables = "", body = "vscode-dark" } = {}) {
    await this.exposed;
    this.first = first;
    const file = (kind) => readFileSync(join(this.dist, `${name}.${kind}`), "utf8");
    const content = `<!DOCTYPE html><html lang="en" style="${variables.replaceAll('"', "'")}"><head><meta charset="UTF-8"><title>${name}</title>
      <style>${file("css")}</style></head><body class="${body}" style="background: var(--vscode-editor-background)"><script>${HOST}</script><script>${file("js").replaceAll("</script", "<\\/script")}</script></body></html>`;
    await this.page.goto("about:blank");
    await this.page.setContent(content, { waitUntil: "load" });
  }

  send(message) {
    return this.page.evaluate((message) => globalThis.fromHost?.(message), message).catch(() => undefined);
  }

  async receive(message) {
    if (message.type === "ready") await this.send(this.first);
    else if (message.type === "ask") {
      const answer = await this.adapter.request(message.request, message.arguments).then((body) => ({ body }), (error) => ({ error: error.message }));
      await this.send({ type: "answer", id: message.id, ...answer });
    } else if (message.type === "travel") await this.adapter.request("tdb/travel", { ordinal: message.ordinal });
    else this.other?.(message);
  }
}
