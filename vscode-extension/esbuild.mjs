// Bundles the extension and its pages into dist/, with --tests the unit tests into out/test/, or with --report FOLDER the
// program of the reports of the Python package. With TDB_DAP_WEB_ENGINE, a folder, also the engine for browsers.
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const OUTSIDE = ["report", "share"]; // are no pages of the editor
const pages = readdirSync("pages").filter((name) => !OUTSIDE.includes(name) && existsSync(`pages/${name}/main.ts`));
const tests = process.argv.includes("--tests");
const report = process.argv.indexOf("--report");
const common = {
  bundle: true,
  minify: process.argv.includes("--minify"),
  sourcemap: !process.argv.includes("--minify"),
  logLevel: "warning",
};

const page = { ...common, platform: "browser", format: "iife" };

if (report >= 0) {
  const shown = {
    ...page,
    outdir: process.argv[report + 1],
    minify: true,
    sourcemap: false,
    charset: "utf8",
    target: ["es2022", "chrome105", "firefox110", "safari16"],
  };
  await build({ ...shown, entryPoints: Object.fromEntries(OUTSIDE.map((page) => [page, `pages/${page}/main.ts`])) });
  await build({ ...shown, entryPoints: { shareWorker: "pages/share/worker.ts" } });
  process.exit();
}

await build({
  ...common,
  entryPoints: tests
    ? readdirSync("test")
        .filter((name) => name.endsWith(".test.ts"))
        .map((name) => `test/${name}`)
    : ["src/extension.ts"],
  ...(tests ? { outdir: "out/test" } : { outfile: "dist/extension.js" }),
  platform: "node",
  format: "cjs",
  target: "node18", // what the oldest supported VS Code runs
  // `vscode` exists only inside the editor; the tokenizer finds its .wasm beside its own file. Only tests parse sources.
  external: ["vscode", "vscode-oniguruma", "vscode-textmate", "typescript"],
});

if (!tests) {
  await build({
    ...page,
    entryPoints: Object.fromEntries(pages.map((page) => [page, `pages/${page}/main.ts`])),
    outdir: "dist",
    target: "chrome122", // of the oldest supported VS Code
  });
  await build({
    ...common,
    entryPoints: ["src/web/extension.ts"],
    outfile: "dist/web/extension.js",
    platform: "browser",
    format: "cjs",
    target: "chrome122",
    external: ["vscode"],
    alias: { "node:path": "./src/web/path.ts", "node:fs": "./src/web/fs.ts" },
  });
  await build({ ...page, entryPoints: ["pages/web/worker.ts"], outfile: "dist/web/worker.js", target: "chrome122" });
  copyEngine(process.env.TDB_DAP_WEB_ENGINE);
  const sample = (name) => !name.endsWith(".py") && !name.endsWith("__pycache__");
  cpSync("../tdb_dap/sample", "dist/sample", { recursive: true, filter: sample });
}

/** The engine, and a list of its files: a browser cannot list a folder. */
function copyEngine(folder) {
  rmSync("dist/engine", { recursive: true, force: true });
  if (!folder) return;
  const files = readdirSync(folder);
  mkdirSync("dist/engine", { recursive: true });
  for (const name of files) cpSync(`${folder}/${name}`, `dist/engine/${name}`);
  const wheels = files.filter((name) => name.endsWith(".whl"));
  writeFileSync("dist/engine/engine.json", JSON.stringify({ files, wheels }));
}
