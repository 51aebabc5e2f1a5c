// Shared pages in real browsers: opened from a server and from a disk, at the shared moment, stepping both ways, with the
// outputs of this machine. TDB_DAP_ENGINE: folder of the engine for browsers. CHROMIUM, FIREFOX: the programs. MODELS: paths of
// contexts with input.npz, separated by colons, which are shared in place of those that come with the tests.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { after, before, describe, test } from "node:test";
import { programOf, start } from "./browsers.mjs";

const python = process.env.PYTHON ?? "python3";
const data = join(import.meta.dirname, "..", "..", "data");
const TOYS = [
  "bm1684/toy_bm1684_f32",
  "bm1684x/toy_bm1684x_f32",
  "bm1684x/toy_bm1684x_f16",
  "bm1684x/toy_bm1684x_bf16",
  "bm1684x/toy_bm1684x_int8",
  "bm1688/toy_bm1688_int8c2",
  "bm1690/toy_bm1690_f16c8",
  "chips/bm1684x2/toy_bm1684x2_f16c4",
  "chips/sg2380/toy_sg2380_int8c4",
  "chips/cv181x/toy_cv181x_int8",
  "chips/cv182x/toy_cv182x_bf16",
  "chips/cv184x/toy_cv184x_bf16",
  "recordings/toy_bm1688.tdbrec",
].map((path) => join(data, path));
const [toy, cores] = [TOYS[1], TOYS[6]];
const models = process.env.MODELS?.split(":") ?? TOYS;
const LARGEST = 25e6; // bytes of the engine
const PATIENCE = 120_000; // ms until a page is ready
const OUTPUTS = `
import sys, json, zlib, numpy, tdb_dap
debugger = tdb_dap.open(sys.argv[1], inputs=sys.argv[2] or None)
debugger.run()
print(json.dumps({n: f"{zlib.crc32(numpy.ascontiguousarray(a).tobytes()):08x}" for n, a in debugger.outputs(raw=True).items()}))`;
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

const run = promisify(execFile);
const inputs = (model) => (model.endsWith(".tdbrec") ? "" : join(model, "input.npz"));
const shared = new Map(); // pages that are written already, by name
let folder, server;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "tdb-dap-share-"));
  server = await serve(folder);
});

after(() => {
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Write a page once, and return its path. */
function share(name, model, ...more) {
  if (!shared.has(name)) {
    const given = inputs(model) === "" ? [] : ["--inputs", inputs(model)];
    const target = join(folder, name);
    execFileSync(python, ["-m", "tdb_dap", "share", model, ...given, "-o", target, "--with-weights", ...more]);
    shared.set(name, target);
  }
  return shared.get(name);
}

async function serve(root) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    try {
      const path = join(root, decodeURI(request.url.endsWith("/") ? `${request.url}index.html` : request.url));
      response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(readFileSync(path));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return Object.assign(server, { base: `http://127.0.0.1:${server.address().port}/`, asked });
}

/** A page that is ready: `page` to drive it, `ask` for its engine, `ms` until it showed its moment. */
async function opened(browser, url) {
  const began = performance.now();
  const page = await browser.open(url);
  await until(page, () => /ready|failed/.test(document.body.className), PATIENCE);
  const ms = performance.now() - began;
  const [state, text] = await page.evaluate(() => [document.body.className, document.querySelector("main").textContent]);
  assert.match(state, /ready/, text);
  return { page, ms, ask: (name, more = {}) => page.evaluate((n, m) => window.shared(n, m), name, more) };
}

/** Wait for a condition inside the page. */
async function until(page, condition, patience = 20_000) {
  const end = performance.now() + patience;
  while (!(await page.evaluate(condition))) {
    assert.ok(performance.now() < end, `never true: ${condition}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function expected(model) {
  const { stdout } = await run(python, ["-c", OUTPUTS, model, inputs(model)]);
  return JSON.parse(stdout);
}

/** Median milliseconds of a step, there and back. */
const stepped = (page) =>
  page.evaluate(async () => {
    const times = [];
    for (const count of [1, -1, 1, -1, 1, -1, 1, -1, 1, -1]) {
      const began = performance.now();
      await window.shared("step", { count, unit: "op" });
      times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b)[5];
  });

test("the engine is small enough for a page", (t) => {
  const engine = process.env.TDB_DAP_ENGINE;
  const size = readdirSync(engine).reduce((sum, name) => sum + statSync(join(engine, name)).size, 0);
  t.diagnostic(`engine: ${(size / 1e6).toFixed(1)} MB`);
  assert.ok(size < LARGEST, `${size} bytes`);
});

for (const name of ["Chromium", "Firefox"]) {
  describe(name, { skip: programOf(name) === undefined && `there is no ${name} on this machine` }, () => {
    let browser;

    before(async () => {
      browser = await start(name);
    });

    after(async () => {
      await browser?.close();
    });

    test("a folder from a server opens at its moment and steps both ways", async (t) => {
      share("folder", toy, "--at", "5", "--bookmark", "relu=4");
      const { page, ms, ask } = await opened(browser, `${server.base}folder/`);
      const where = () => page.evaluate(() => document.querySelector(".where").textContent);
      assert.match(await where(), /5 of 58 commands executed; next: tpu.Pool2D maxpool5_MaxPool, line 23/);
      await page.click('//button[text()="op ▶"]');
      await until(page, () => document.querySelector(".where").textContent.startsWith("6 of 58"));
      await page.click('//button[text()="◀ op"]');
      await until(page, () => document.querySelector(".where").textContent.startsWith("5 of 58"));
      await page.click('(//*[@class="values"]//button)[1]');
      await until(page, () => document.querySelector("canvas") !== null);
      await page.type('//input[@type="text"]', "trace max(out[0]) at tpu.Conv2D");
      await until(page, () => document.querySelector(".console").textContent.includes("2 hits at 2 places"));
      const step = await stepped(page);
      t.diagnostic(`${browser.name}: ready after ${(ms / 1000).toFixed(1)} s, a step in ${step.toFixed(0)} ms`);
      assert.deepEqual(await ask("outputs"), await expected(toy));
      const asked = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name));
      assert.deepEqual(asked.filter((url) => !url.startsWith(server.base) && !url.startsWith("blob:")), [], "nothing from elsewhere");
      assert.ok(asked.length > 0);
      await page.screenshot(join(process.env.SHOTS ?? folder, `share-${name}.png`));
      await page.close();
    });

    test("one file from a disk computes a model of eight cores", async (t) => {
      const { page, ms, ask } = await opened(browser, pathToFileURL(share("cores.html", cores)).href);
      t.diagnostic(`${browser.name}: ready after ${(ms / 1000).toFixed(1)} s`);
      assert.deepEqual(await ask("outputs"), await expected(cores));
      await page.close();
    });

    for (const model of models) {
      test(`the outputs of ${basename(model)} are those of this machine`, async () => {
        const native = expected(model);
        share(basename(model), model);
        const { page, ask } = await opened(browser, `${server.base}${basename(model)}/`);
        assert.deepEqual(await ask("outputs"), await native);
        await page.close();
      });
    }
  });
}
