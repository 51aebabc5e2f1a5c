import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { createOnigScanner, createOnigString, loadWASM } from "vscode-oniguruma";
import { INITIAL, parseRawGrammar, Registry, type IGrammar } from "vscode-textmate";

// npm runs the tests in the extension's folder.
const FILES: Record<string, string> = {
  "source.mlir.tdb": "language/mlir.tmLanguage.json",
  "source.tdb-asm": "language/tdb-asm.tmLanguage.json",
};

async function grammar(scope: string): Promise<IGrammar> {
  const registry = new Registry({
    onigLib: oniguruma,
    loadGrammar: (name) => {
      const file = FILES[name];
      return Promise.resolve(file === undefined ? null : parseRawGrammar(readFileSync(file, "utf8"), file));
    },
  });
  const loaded = await registry.loadGrammar(scope);
  assert.ok(loaded);
  return loaded;
}

const oniguruma = loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"))).then(() => ({
  createOnigScanner,
  createOnigString,
}));

/** The innermost scope, without the language at its end, of each of these pieces of a line. */
function scopes(language: IGrammar, line: string, pieces: string[]): string[] {
  const { tokens } = language.tokenizeLine(line, INITIAL);
  let from = 0;
  return pieces.map((piece) => {
    const at = line.indexOf(piece, from);
    assert.ok(at >= 0, `${piece} is not in the rest of the line`);
    from = at + piece.length;
    const token = tokens.find(({ startIndex, endIndex }) => startIndex <= at && at < endIndex);
    assert.equal(token?.endIndex, from, `${piece} is not one token`);
    return token.scopes.at(-1)?.replace(/\.(mlir|tdb-asm)$/, "") ?? "";
  });
}

const check = (language: IGrammar, line: string, expected: [string, string][]): void => {
  const found = scopes(
    language,
    line,
    expected.map(([piece]) => piece),
  );
  assert.deepEqual(
    expected.map(([piece], i) => [piece, found[i]]),
    expected,
  );
};

describe("the colours of MLIR", async () => {
  const mlir = await grammar("source.mlir.tdb");

  it("of an operation", () => {
    check(
      mlir,
      '    %17:2 = "tpu.Pool2D"(%16#0) {do_relu = false, ginfo = #tpu.lg<out_addr = 4096, n_idx = [0]>, pad = [-1], s = 1.000000e+00 : f64} : (tensor<1x16x32x32xf32, 4295020544 : i64>) -> none loc(#loc13)',
      [
        ["%17", "variable.other.value"],
        ["tpu", "entity.name.namespace"],
        ["Pool2D", "entity.name.function.operation"],
        ["%16", "variable.other.value"],
        ["do_relu", "variable.parameter.attribute"],
        ["false", "constant.language.boolean"],
        ["#tpu.lg", "support.type.attribute"],
        ["out_addr", "variable.parameter.attribute"],
        ["4096", "constant.numeric"],
        ["-1", "constant.numeric"],
        ["1.000000e+00", "constant.numeric"],
        ["f64", "storage.type.scalar"],
        ["tensor", "storage.type"],
        ["1x16x32x32x", "constant.numeric.shape"],
        ["f32", "storage.type.scalar"],
        ["4295020544", "constant.numeric"],
        ["->", "keyword.operator"],
        ["none", "storage.type.scalar"],
        ["loc", "keyword.other.location"],
        ["#loc13", "variable.other.location"],
      ],
    );
  });

  it("of a quantised type, which ends where its brackets end", () => {
    check(mlir, "tensor<1x3x!quant.uniform<i8:f32, 3.0E-2:-5>, 16 : i64> : #tpu<round_mode Up>", [
      ["!quant.uniform", "storage.type.dialect"],
      ["i8", "storage.type.scalar"],
      ["3.0E-2", "constant.numeric"],
      ["-5", "constant.numeric"],
      ["i64", "storage.type.scalar"],
      ["#tpu", "support.type.attribute"],
    ]);
  });

  it("of a function", () => {
    check(mlir, "func.func @subfunc_0(%arg0: none) attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>}", [
      ["func", "entity.name.namespace"],
      ["func", "keyword.declaration"],
      ["@subfunc_0", "entity.name.function.symbol"],
      ["%arg0", "variable.other.value"],
      ["attributes", "keyword.declaration"],
      ["TPU_STATIC", "constant.language.run-mode"],
    ]);
  });
});

describe("the colours of the disassembly", async () => {
  const asm = await grammar("source.tdb-asm");

  it("of a command", () => {
    check(
      asm,
      "  B1: %R1 f32[1,16,32,32] = conv.normal(input = %R0 f32[1,3], pad_value = -0.5 f32) {kernel = [3, 3]}  wait D3",
      [
        ["B1", "entity.name.tag.command"],
        ["%R1", "variable.other.memory.local"],
        ["f32", "storage.type.scalar"],
        ["1,16,32,32", "constant.numeric.shape"],
        ["conv.normal", "entity.name.function.mnemonic"],
        ["input", "variable.parameter.attribute"],
        ["%R0", "variable.other.memory.local"],
        ["-0.5", "constant.numeric"],
        ["f32", "storage.type.scalar"],
        ["kernel", "variable.parameter.attribute"],
        ["3", "constant.numeric"],
        ["wait", "keyword.other.wait"],
        ["D3", "entity.name.tag.command"],
      ],
    );
  });

  it("of a command without results, and of a title", () => {
    check(asm, "  B7: system.nop", [
      ["B7", "entity.name.tag.command"],
      ["system.nop", "entity.name.function.mnemonic"],
    ]);
    check(asm, "subnet 0 TPU_STATIC:", [
      ["subnet", "keyword.declaration"],
      ["0", "constant.numeric"],
      ["TPU_STATIC", "constant.language.run-mode"],
    ]);
  });

  it("of a command as the vendor's tools print it", () => {
    check(
      asm,
      '      %R1.64, %B1 = "conv.normal"(%R0, %S1024, %C-0.5, %D3C0) {kernel = [3, 3], kernel_rotate = False} : (memref<1x3x32x32xf32, strides: [1024, 32, 1]>, f32, none) -> (none)',
      [
        ["%R1.64", "variable.other.memory.local"],
        ["%B1", "entity.name.tag.command"],
        ["conv.normal", "entity.name.function.mnemonic"],
        ["%R0", "variable.other.memory.local"],
        ["%S1024", "variable.other.constant.memory.static"],
        ["%C-0.5", "constant.numeric.operand"],
        ["%D3C0", "entity.name.tag.command"],
        ["kernel", "variable.parameter.attribute"],
        ["3", "constant.numeric"],
        ["False", "constant.language"],
        ["memref", "storage.type"],
        ["1x3x32x32x", "constant.numeric.shape"],
        ["f32", "storage.type.scalar"],
        ["strides", "variable.parameter.attribute"],
        ["none", "storage.type.scalar"],
      ],
    );
  });

  it("of a BM1684 command, which has a description for a mnemonic", () => {
    check(asm, "%B3 = depthwise or pooling(%D3)", [
      ["%B3", "entity.name.tag.command"],
      ["depthwise or pooling", "entity.name.function.mnemonic"],
      ["%D3", "entity.name.tag.command"],
    ]);
  });

  it("of a block that opens a barrier between cores", () => {
    check(asm, "  c1.D2: dma.sys.sys_send  wait c1.B2", [
      ["c1.D2", "entity.name.tag.command"],
      ["wait", "keyword.other.wait"],
      ["c1.B2", "entity.name.tag.command"],
    ]);
    check(asm, '%D13C0, %msg30 = "@core_0"(%D12C0) { // run_mode=TPU_STATIC', [
      ["%msg30", "entity.name.tag.message"],
      ["@core_0", "entity.name.label.core"],
      ["// run_mode=TPU_STATIC", "comment.line"],
    ]);
  });
});
