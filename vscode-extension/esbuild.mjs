// Bundles the extension into dist/, or with --tests the unit tests into out/test/.
import { readdirSync } from "node:fs";
import { build } from "esbuild";

const tests = process.argv.includes("--tests");

await build({
  entryPoints: tests
    ? readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`)
    : ["src/extension.ts"],
  ...(tests ? { outdir: "out/test" } : { outfile: "dist/extension.js" }),
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node18", // what the oldest supported VS Code runs
  // `vscode` exists only inside the editor; the tokenizer finds its .wasm beside its own file.
  external: ["vscode", "vscode-oniguruma", "vscode-textmate"],
  minify: process.argv.includes("--minify"),
  sourcemap: !process.argv.includes("--minify"),
  logLevel: "warning",
});
