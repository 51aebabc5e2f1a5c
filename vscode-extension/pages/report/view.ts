/** A view of MCP Apps: https://github.com/modelcontextprotocol/ext-apps, protocol 2026-01-26. */
import type { Page, ViewPage } from "../../src/protocol/generated";
import { html } from "../shared/dom";

const PROTOCOL = "2026-01-26";

/** A message of JSON-RPC 2.0. */
interface Message {
  readonly jsonrpc?: string;
  readonly id?: number;
  readonly method?: string;
  readonly params?: ToolResult;
  readonly result?: unknown;
  readonly error?: { readonly message?: string };
}

interface ToolResult {
  readonly content?: readonly { readonly text?: string }[];
}

interface Resource {
  readonly contents: readonly { readonly text: string }[];
}

/** Ask the host for the page once the tool has ended, and show its data; where it hands out none, the tool's text. */
export function askHost({ uri }: ViewPage, main: HTMLElement, show: (page: Page, main: HTMLElement) => void): void {
  const host = window.parent;
  const waiting = new Map<number, (message: Message) => void>();
  const send = (message: object) => {
    host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  };
  const call = (method: string, params: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = waiting.size + 1;
      waiting.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result);
        else reject(new Error(error.message));
      });
      send({ id, method, params });
    });

  async function showResult({ content = [] }: ToolResult): Promise<void> {
    main.replaceChildren();
    try {
      const { contents } = (await call("resources/read", { uri })) as Resource;
      const page = new DOMParser().parseFromString(contents[0]?.text ?? "", "text/html");
      const data = page.getElementById("data")?.textContent;
      if (typeof data === "string") show(JSON.parse(data) as Page, main);
      else main.append(html("p", {}, page.body.textContent));
    } catch {
      main.append(
        html("p", {}, "The host does not hand out the comparison; this is the answer."),
        html("pre", {}, content.map(({ text = "" }) => text).join("\n")),
      );
    }
    const { scrollWidth: width, scrollHeight: height } = document.documentElement;
    send({ method: "ui/notifications/size-changed", params: { width, height } });
  }

  addEventListener("message", ({ data, source }: MessageEvent<Message | null>) => {
    if (source !== host || data?.jsonrpc !== "2.0") return;
    const { id, method, params = {} } = data;
    if (method === "ui/notifications/tool-result") void showResult(params);
    else if (method !== undefined && id !== undefined) send({ id, result: {} });
    else if (method === undefined && id !== undefined) waiting.get(id)?.(data);
  });
  main.append(html("p", {}, "The check has not ended yet."));
  const appInfo = { name: "tdb-dap", version: "1" };
  void call("ui/initialize", { protocolVersion: PROTOCOL, appInfo, appCapabilities: {} }).then(() => {
    send({ method: "ui/notifications/initialized", params: {} });
  });
}
