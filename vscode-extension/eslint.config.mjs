import eslint from "@eslint/js";
import typescript from "typescript-eslint";

export default typescript.config(
  { ignores: ["dist", "out"] },
  eslint.configs.recommended,
  {
    files: ["src/**/*.ts", "test/**/*.ts", "pages/**/*.ts"],
    extends: [typescript.configs.strictTypeChecked, typescript.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    // node:test returns promises that it tracks itself.
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "describe", "it"] }] },
      ],
    },
  },
  {
    // Names in a model may hold anything: pages show them as text.
    files: ["pages/**/*.ts"],
    rules: {
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "write"].map((property) => ({
          ...(property === "write" && { object: "document" }),
          property,
          message: "Names in a model may hold markup; make elements and set textContent.",
        })),
      ],
    },
  },
  { files: ["*.mjs"], languageOptions: { globals: { process: "readonly" } } },
);
