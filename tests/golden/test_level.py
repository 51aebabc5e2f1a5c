"""What a level's text means, rounded as its formats hold it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tdb_dap.tools.golden.activations import gelu, gelu_by_tanh
from tdb_dap.tools.golden.formats import rounded
from tdb_dap.tools.golden.judging import across_a_gap, executed
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.golden.lowering import lowered
from tests.made_compilation import Made, dense


def test_a_quantised_sum_rounds_each_operand_after_its_factor(tmp_path: Path) -> None:
    """As the compiler's interpreter and chips do it, half of a step upwards; not the sum once."""
    made = Made(tmp_path, "INT8", net=dense(3))
    level = Level("tpu", made.texts["tpu_mlir"])
    tensors, missing = level.run({"x": made.x}, is_rounded=True)
    assert not missing
    op = level.by_name["d_Add"]
    kinds = [level.type_named(name) for name in (*level.operand_names(op), "d_Add")]
    scales = [kind.scale for kind in kinds if kind is not None]
    words = [np.rint(tensors[name] / scale) for name, scale in zip(level.operand_names(op), scales, strict=False)]
    factors = [m / 2**7 for m in op.attributes["multipliers"]]
    each = sum(rounded(word * factor, "HalfUp") for word, factor in zip(words, factors, strict=True))
    np.testing.assert_array_equal(np.rint(tensors["d_Add"] / scales[2]), np.clip(each, -128, 127))
    once = np.rint(sum(word * factor for word, factor in zip(words, factors, strict=True)))
    assert (np.clip(once, -128, 127) != np.clip(each, -128, 127)).any(), "the two differ here"


GELU = """module @net attributes {{module.chip = "{chip}"}} {{
  func.func @main(%arg0: tensor<1x64x64xf32>) -> tensor<1x64x64xf32> {{
    %0 = "top.Input"(%arg0) : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32> loc("x")
    %1 = "tpu.Active"(%0) {{approx_mode = "normal", mode = #tpu<active_mode GELU>}} : (tensor<1x64x64xf32>) -> \
tensor<1x64x64xf32> loc("y")
    return %1 : tensor<1x64x64xf32>
  }}
}}
"""


@pytest.mark.parametrize(("chip", "by_tanh"), [("bm1684", "quantisation"), ("bm1684x", "bug")])
def test_one_chip_forms_gelu_by_tanh(chip: str, by_tanh: str, tmp_path: Path) -> None:
    """Whatever the text says; the compiler's interpreter, whose tensors are judged as well, does not."""
    path = tmp_path / "net_tpu.mlir"
    path.write_text(GELU.format(chip=chip), "utf-8")
    level = Level("tpu", path)
    x = np.linspace(-5, 5, 4096).reshape(1, 64, 64)
    numbers = {"by tanh": gelu_by_tanh(x), "exact": gelu(x), "wrong": 1.001 * gelu_by_tanh(x)}
    verdicts = {
        name: executed(level, {"x": x, "y": result.astype(np.float32)})[0].verdict for name, result in numbers.items()
    }
    assert verdicts == {"by tanh": by_tanh, "exact": "quantisation", "wrong": "bug"}


PRODUCT = """module @net attributes {{module.chip = "{chip}"}} {{
  func.func @main(%arg0: tensor<1x64x64xf16>) -> tensor<1x64x64xf16> {{
    %0 = "top.Input"(%arg0) : (tensor<1x64x64xf16>) -> tensor<1x64x64xf16> loc("x")
    %1 = "tpu.Mul"(%0, %0) : (tensor<1x64x64xf16>, tensor<1x64x64xf16>) -> tensor<1x64x64xf16> loc("y")
    return %1 : tensor<1x64x64xf16>
  }}
}}
"""


@pytest.mark.parametrize(("chip", "flushed"), [("bm1684x2", "quantisation"), ("bm1684x", "bug")])
def test_one_chip_makes_zeros_of_subnormal_numbers(chip: str, flushed: str, tmp_path: Path) -> None:
    path = tmp_path / "net_tpu.mlir"
    path.write_text(PRODUCT.format(chip=chip), "utf-8")
    level = Level("tpu", path)
    x = np.linspace(0.004, 0.02, 4096).reshape(1, 64, 64).astype(np.float16)
    exact = np.square(x.astype(np.float64))
    halves = exact.astype(np.float16)
    numbers = {
        "kept": halves,
        "flushed": np.where(exact < 2**-14, 0, halves),
        "too many": np.where(exact < 2**-13, 0, halves),
    }
    verdicts = {name: executed(level, {"x": x, "y": result})[0].verdict for name, result in numbers.items()}
    assert verdicts == {"kept": "quantisation", "flushed": flushed, "too many": "bug"}


CONVOLUTION = "dilations = [1, 1], do_relu = false, group = 1 : i64, kernel_shape = [1, 1], pads = [0, 0, 0, 0]"
IMPORTED = f"""module @net {{
  func.func @main(%arg0: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {{
  %0 = "top.Input"(%arg0) : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> loc("x")
  %1 = "top.Weight"() : () -> tensor<2x2x1x1xf32> loc("w")
  %2 = "top.Weight"() : () -> tensor<2xf32> loc("b")
  %3 = "top.Conv"(%0, %1, %2) {{{CONVOLUTION}, strides = [1, 1]}} : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>, \
tensor<2xf32>) -> tensor<1x2x8x8xf32> loc("y")
  return %3 : tensor<1x2x8x8xf32>
}}
}}
"""
QUANTISED = f"""module @net attributes {{module.chip = "bm1684"}} {{
  func.func @main(%arg0: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {{
  %0 = "top.Input"(%arg0) : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8x!quant.uniform<i8:f32, 0.01>> loc("x")
  %1 = "top.Weight"() : () -> tensor<2x2x1x1xi8> loc("w")
  %2 = "top.Weight"() : () -> tensor<2xi16> loc("b")
  %3 = "tpu.Conv2D"(%0, %1, %2) {{{CONVOLUTION}, quant_mode = #tpu<rq_mode OnlyShift>, round_mode = \
#tpu<round_mode HalfUp>, rshift = [9], strides = [1, 1]}} : (tensor<1x2x8x8x!quant.uniform<i8:f32, 0.01>>, \
tensor<2x2x1x1xi8>, tensor<2xi16>) -> tensor<1x2x8x8x!quant.uniform<i8:f32, 0.02>> loc("y")
  return %3 : tensor<1x2x8x8x!quant.uniform<i8:f32, 0.02>>
}}
}}
"""


@pytest.mark.parametrize(("bias", "verdict"), [(-43065, "bug"), (-21000, "quantisation")])
def test_a_bias_that_is_cut_off_is_named(bias: int, verdict: str, tmp_path: Path) -> None:
    """The compiler stores it in 16 bits, whatever it is; the chip computes with what is left of it."""
    for name, text in (("net.mlir", IMPORTED), ("net_tpu.mlir", QUANTISED)):
        (tmp_path / name).write_text(text, "utf-8")
    words = np.array([[100, 20], [30, -90]], np.float64).reshape(2, 2, 1, 1)
    step = 0.02 / 0.01 / 512
    before = Level("top", tmp_path / "net.mlir", {"w": words * step, "b": np.array([bias, 500.0]) * 0.02 / 512})
    stored = np.array([max(bias, -32768), 500.0])
    after = Level("tpu", tmp_path / "net_tpu.mlir", {"w": words, "b": stored})
    x = np.random.default_rng(0).integers(-128, 128, (1, 2, 8, 8)) * 0.01
    tensors, missing = after.run({"x": x}, is_rounded=True)
    assert not missing
    [one] = lowered(before, after, tensors)
    assert one.verdict == verdict
    cut = "; the bias of channel 0 ends at -32,768, where i16 ends: keep the op in float"
    assert one.reason.endswith(cut) == (verdict == "bug")


ACROSS = """module @net {{
  func.func @main(%arg0: tensor<3x40xf32>) -> tensor<3x{size}xf32> {{
    %0 = "top.Input"(%arg0) : (tensor<3x40xf32>) -> tensor<3x40xf32> loc("x")
    {op} : (tensor<3x40xf32>) -> {types} loc("lost")
    %2 = "top.Relu"(%values) {{relu_limit = -1.0 : f64}} : (tensor<3x{size}xf32>) -> tensor<3x{size}xf32> loc("y")
    return %2 : tensor<3x{size}xf32>
  }}
}}
"""
CHOSEN = '%values, %indices = "top.TopK"(%0) {K = 5 : i64, axis = 1 : i64, largest = true, sorted = true}'
LOST = {
    "top.Sigmoid": ('%values = "top.Sigmoid"(%0)', 40, "tensor<3x40xf32>", "bug"),
    "top.TopK": (CHOSEN, 5, "(tensor<3x5xf32>, tensor<3x5xf32>)", "unknown"),
}


@pytest.mark.parametrize("lost", LOST)
def test_what_is_far_across_a_lost_result_is_a_bug_unless_it_was_chosen(lost: str, tmp_path: Path) -> None:
    op, size, types, verdict = LOST[lost]
    path = tmp_path / "net.mlir"
    path.write_text(ACROSS.format(op=op, size=size, types=types), "utf-8")
    level = Level("top", path)
    x = np.random.default_rng(0).normal(size=(3, 40))
    tensors, missing = level.run({"x": x}, is_rounded=True)
    assert not missing
    right, wrong = tensors["y"], tensors["y"][:, ::-1] * 3
    for y, expected in ((right, "unknown"), (wrong, verdict)):
        known = {"x": x, "y": y}
        [one] = executed(level, known, [level.by_name["y"]])
        assert one.verdict == "unknown"
        assert across_a_gap(one, level, known).verdict == expected
