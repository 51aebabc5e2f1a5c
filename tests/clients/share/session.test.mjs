// A shared page in a real browser: opened from a server and from a disk, at the shared moment, stepping both ways, with
// the outputs of this machine. ENGINE: folder of the engine for browsers (TDB_DAP_ENGINE).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const python = process.env.PYTHON ?? "python3";
const data = join(import.meta.dirname, "..", "..", "data");
const models = {
  toy: join(data, "bm1684x", "toy_bm1684x_f32"),
  cores: join(data, "bm1690", "toy_bm1690_f16c8"),
  recording: join(data, "recordings", "toy_bm1688.tdbrec"),
};
const OUTPUTS = `
import sys, json, zlib, numpy, tdb_dap
debugger = tdb_dap.open(sys.argv[1], inputs=sys.argv[2] or None)
debugger.run()
print(json.dumps({n: f"{zlib.crc32(numpy.ascontiguousarray(a).tobytes()):08x}" for n, a in debugger.outputs(raw=True).items()}))`;
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

let folder, browser;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tdb-dap-share-"));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const inputs = (model) => (model.endsWith(".tdbrec") ? "" : join(model, "input.npz"));

function share(name, model, ...more) {
  const target = join(folder, name);
  const given = inputs(model) === "" ? [] : ["--inputs", inputs(model)];
  execFileSync(python, ["-m", "tdb_dap", "share", model, ...given, "-o", target, "--with-weights", ...more]);
  return target;
}

async function serve(root) {
  const server = createServer((request, response) => {
    try {
      const path = join(root, request.url === "/" ? "index.html" : request.url.slice(1));
      response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(readFileSync(path));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

async function opened(url) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(url);
  await page.waitForSelector("body.ready, body.failed", { timeout: 120_000 });
  assert.match(await page.getAttribute("body", "class"), /ready/, await page.textContent("main"));
  return { page, asked, ask: (name, more = {}) => page.evaluate(([n, m]) => window.shared(n, m), [name, more]) };
}

const expected = (model) => JSON.parse(execFileSync(python, ["-c", OUTPUTS, model, inputs(model)], { encoding: "utf8" }));

test("a folder from a server opens at its moment and steps both ways", async () => {
  const root = share("folder", models.toy, "--at", "5", "--bookmark", "relu=4");
  const server = await serve(root);
  const url = `http://127.0.0.1:${server.address().port}/`;
  const { page, asked, ask } = await opened(url);
  assert.match(await page.textContent(".where"), /5 of 58 commands executed; next: tpu.Pool2D maxpool5_MaxPool, line 23/);
  await page.click("text=op ▶");
  await page.waitForFunction(() => document.querySelector(".where").textContent.startsWith("6 of 58"));
  await page.click("text=◀ op");
  await page.waitForFunction(() => document.querySelector(".where").textContent.startsWith("5 of 58"));
  await page.click(".values button");
  await page.waitForSelector("canvas");
  await page.fill("input[type=text]", "trace max(out[0]) at tpu.Conv2D");
  await page.press("input[type=text]", "Enter");
  await page.waitForFunction(() => document.querySelector(".console").textContent.includes("2 hits at 2 places"));
  assert.deepEqual(await ask("outputs"), expected(models.toy));
  assert.deepEqual(asked.filter((each) => !each.startsWith(url) && !each.startsWith("blob:")), [], "nothing from elsewhere");
  await page.screenshot({ path: join(process.env.SHOTS ?? folder, "share.png") });
  server.close();
});

test("one file from a disk computes a model of eight cores", async () => {
  const { ask } = await opened(pathToFileURL(share("cores.html", models.cores)).href);
  assert.deepEqual(await ask("outputs"), expected(models.cores));
});

test("a recording is replayed", async () => {
  const { ask } = await opened(pathToFileURL(share("recording.html", models.recording)).href);
  assert.deepEqual(await ask("outputs"), expected(models.recording));
});
