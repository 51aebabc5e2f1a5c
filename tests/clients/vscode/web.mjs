// VS Code for the web: the workbench of code-server alone, without its server. Extensions run in the browser's worker,
// and the workspace is virtual: files of FOLDER under the scheme tdb-test.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { SETTINGS } from "./server.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm" };
const [FILE, DIRECTORY] = [1, 2];

/** Serve it: `home` of code-server, the extension's folder, the folder that is the workspace. `asked`: all paths. */
export async function serveWeb({ home, extension, folder }) {
  const code = join(home, "node_modules/code-server/lib/vscode");
  const roots = { "/out/": join(code, "out"), "/extensions/": join(code, "extensions"), "/extension/": extension, "/files/": join(import.meta.dirname, "files"), "/mount/": folder };
  const asked = [];
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url, base);
    asked.push(pathname);
    const [status, type, body] = answer(pathname, search);
    response.writeHead(status, { "content-type": type, "access-control-allow-origin": "*" }).end(body);
  });
  await new Promise((done) => server.listen(0, "localhost", done));
  const base = `http://localhost:${server.address().port}`;

  function answer(pathname, search) {
    if (pathname === "/") return [200, "text/html", page(code, base)];
    const [route, root] = Object.entries(roots).find(([start]) => `${pathname}/`.startsWith(start)) ?? [];
    const path = root && join(root, normalize(decodeURIComponent(pathname.slice(route.length))));
    try {
      const stat = statSync(path);
      if (search === "?stat") return json({ type: kind(stat), size: stat.size, ctime: 0, mtime: stat.mtimeMs });
      if (search === "?list") return json(readdirSync(path).map((name) => [name, kind(statSync(join(path, name)))]));
      const body = readFileSync(path);
      return [200, TYPES[extname(path)] ?? "application/octet-stream", pathname.endsWith("/workbench.js") ? alone(body) : body];
    } catch {
      return [404, "text/plain", ""];
    }
  }
  return { url: base, asked, close: () => server.closeAllConnections() ?? server.close() };
}

const kind = (stat) => (stat.isDirectory() ? DIRECTORY : FILE);
const json = (value) => [200, "application/json", JSON.stringify(value)];

/** code-server's workbench has a remote machine, its own host, and keeps the user's data there; here is none. */
function alone(program) {
  const changes = [
    ["remoteAuthority:location.host", "remoteAuthority:void 0"],
    [/(\w+)\.file\(this\.userDataPath\)\.with\(\{scheme:(\w+)\.vscodeRemote\}\)/, '$1.file("/").with({scheme:$2.vscodeUserData})'],
  ];
  return changes.reduce((text, [from, to]) => {
    const changed = text.replace(from, to);
    assert.notEqual(changed, text, `workbench.js has no ${from}`);
    return changed;
  }, program.toString());
}

function page(code, base) {
  const { protocol, host } = new URL(base);
  const extensions = ["/extension", "/files"].map((path) => ({ scheme: protocol.slice(0, -1), authority: host, path }));
  const configuration = {
    additionalBuiltinExtensions: extensions,
    userDataPath: "/",
    isEnabledFileDownloads: true,
    isEnabledFileUploads: true,
    isEnabledCoderGettingStarted: false,
    configurationDefaults: SETTINGS,
    webviewEndpoint: `${base}/out/vs/workbench/contrib/webview/browser/pre`,
    productConfiguration: { nameShort: "Web", nameLong: "Web", extensionsGallery: undefined, enableTelemetry: false },
  };
  const values = {
    WORKBENCH_WEB_CONFIGURATION: JSON.stringify(configuration).replaceAll('"', "&quot;"),
    WORKBENCH_AUTH_SESSION: "",
    WORKBENCH_WEB_BASE_URL: base,
    WORKBENCH_NLS_FALLBACK_URL: `${base}/out/nls.messages.js`,
    WORKBENCH_NLS_URL: `${base}/out/nls.messages.js`,
    BASE: base,
    VS_BASE: base,
  };
  const html = readFileSync(join(code, "out/vs/code/browser/workbench/workbench.html"), "utf8");
  return html.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name] ?? "");
}
