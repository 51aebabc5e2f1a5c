// Bundles the extension and its pages into dist/, or with --tests the unit tests into out/test/.
import { cpSync, existsSync, readdirSync } from "node:fs";
import { build } from "esbuild";

const pages = readdirSync("pages").filter((name) => existsSync(`pages/${name}/main.ts`));
const tests = process.argv.includes("--tests");
const common = {
  bundle: true,
  minify: process.argv.includes("--minify"),
  sourcemap: !process.argv.includes("--minify"),
  logLevel: "warning",
};

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
    ...common,
    entryPoints: Object.fromEntries(pages.map((page) => [page, `pages/${page}/main.ts`])),
    outdir: "dist",
    platform: "browser",
    format: "iife",
    target: "chrome122", // of the oldest supported VS Code
  });
  const sample = (name) => !name.endsWith(".py") && !name.endsWith("__pycache__");
  cpSync("../tdb_dap/sample", "dist/sample", { recursive: true, filter: sample });
}
