import eslint from "@eslint/js";
import typescript from "typescript-eslint";

export default typescript.config(
  { ignores: ["dist", "out"] },
  eslint.configs.recommended,
  {
    files: ["src/**/*.ts", "test/**/*.ts", "webview/**/*.ts"],
    extends: [typescript.configs.strictTypeChecked, typescript.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    // node:test returns promises that it tracks itself.
    rules: { "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "describe", "it"] }] }] },
  },
  { files: ["*.mjs"], languageOptions: { globals: { process: "readonly" } } },
);
