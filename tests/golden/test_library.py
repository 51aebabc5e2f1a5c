"""The golden library against the numbers of the compiler's own interpreter, op by op.

tests/data/golden holds one small example of each op and number format (scripts/record_goldens.py).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.tools.golden.formats import TensorType, rounded, signature, tensor_type
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.golden.level import wide
from tdb_dap.tools.golden.library import GOLDENS, INTEGER, Call, compute
from tdb_dap.tools.golden.windows import convolution
from tests.golden.judging import judge
from tests.samples import DATA

GOLDEN = DATA / "golden"


@dataclass(frozen=True)
class Example:
    """A recorded op: its call, and the vendor's result."""

    op: MlirOp
    call: Call
    result: Array


def op_of(text: str) -> MlirOp:
    """The op of one line of MLIR."""
    (op,) = MlirFile(f"func.func @main() {{\n{text}\n}}", Path("example.mlir")).ops.values()
    return op


@cache
def examples() -> tuple[Example, ...]:
    arrays = read_npz(GOLDEN / "cases.npz")
    found = []
    for number, case in enumerate(json.loads((GOLDEN / "cases.json").read_text("utf-8"))):
        op = op_of(case["op"])
        inputs = tuple(
            np.asarray(arrays[key], np.float64) if (key := f"{number}.{place}") in arrays else None
            for place in range(case["operands"])
        )
        call = Call(op.name, inputs, op.attributes, *signature(op.types))
        found.append(Example(op, call, arrays[f"{number}.result"]))
    return tuple(found)


def judged(example: Example, result: Array | None = None, **changed: object) -> Judged:
    """The verdict on the recorded result, or another one, of the call with other attributes."""
    call = replace(example.call, attributes={**example.call.attributes, **changed})
    return judge(example.op, call, {0: example.result if result is None else result})


def of(name: str, storage: str = "", **attributes: object) -> Example:
    """The first example of an op with results of a format and these attributes."""
    return next(
        example
        for example in examples()
        if example.call.name == name
        and (not storage or (example.call.result is not None and example.call.result.storage == storage))
        and all(example.call.get(key) == value for key, value in attributes.items())
    )


def test_every_example_is_what_the_vendor_s_interpreter_computes() -> None:
    verdicts = [(example, judged(example)) for example in examples()]
    assert len(verdicts) >= 220
    assert [f"{e.call.name} {e.op.text[:80]}: {j.verdict}: {j.reason}" for e, j in verdicts if j.verdict == "bug"] == []
    assert [e.call.name for e, j in verdicts if j.verdict == "unknown"] == []


def test_most_ops_of_the_library_have_an_example() -> None:
    seen = {example.call.name for example in examples()}
    assert len(seen) >= 110
    assert seen <= set(GOLDENS) | set(INTEGER)


QUANTISED = "tensor<1x4x8x8x!quant.uniform<i8:f32, 0.05>>"
F16 = "tensor<1x4x8x8xf16>"
SHIFT = "multiplier = 1717 : si32, rshift = 12 : si32"

ROUNDED = {
    "i8": f'%1 = "tpu.MulShift"(%0) {{{SHIFT}}} : ({QUANTISED}) -> {QUANTISED}',
    "f16": f'%1 = "tpu.Mul"(%0, %0) {{do_relu = false}} : ({F16}, {F16}) -> {F16}',
}
"""Ops that round once, in two formats."""


@pytest.mark.parametrize("storage", ROUNDED)
@pytest.mark.parametrize("mode", ["Down", "Up", "TowardsZero"])
def test_rounding_in_one_direction_is_a_bug_and_to_the_nearest_is_not(storage: str, mode: str) -> None:
    op = op_of(ROUNDED[storage])
    kinds = signature(op.types)
    kind = kinds[1][0]
    assert kind is not None
    numbers = kind.stored(np.random.default_rng(1).normal(0, 2, (1, 4, 8, 8)))
    call = Call(op.name, (numbers,) * (len(kinds[0])), op.attributes, *kinds)
    (exact,) = compute(call)
    step = kind.step(exact)
    assert judge(op, call, {0: kind.stored(exact)}).verdict == "quantisation"
    assert judge(op, call, {0: rounded(exact / step, mode) * step}).verdict == "bug"


@pytest.mark.parametrize(
    ("name", "storage", "attribute", "other"),
    [
        ("tpu.Conv2D", "u8", "multiplier", lambda old: [2 * number for number in old]),
        ("tpu.MatMul", "i8", "rshifts", lambda old: [old[0] + 1, *old[1:]]),
        ("tpu.Add", "i8", "multipliers", lambda old: [old[0], old[1] + 8]),
        ("tpu.Permute", "", "order", lambda old: [old[0], *old[:0:-1]]),
        ("top.Softmax", "", "axis", lambda old: old - 1 if old else 1),
        ("tpu.LeakyRelu", "i8", "multiplier", lambda old: old + 20),
        ("top.LayerNorm", "", "eps", lambda old: 0.5),
        ("tpu.LutBF16", "bf16", "lut_mode", lambda old: "#tpu<lut_mode Mantissa>"),
    ],
)
def test_another_attribute_is_a_bug(name: str, storage: str, attribute: str, other: Callable[[Any], Any]) -> None:
    example = of(name, storage)
    old = example.call.attributes[attribute]
    verdict = judged(example, **{attribute: other(old)})
    assert verdict.verdict in ("bug", "unknown"), "an axis that does not fit the shape cannot be computed"


def test_sums_in_f32_are_no_bug_of_the_largest_channel() -> None:
    """One channel in thousands is a thousand times as large as the others."""
    window = "kernel_shape = [1, 1], pads = [0, 0, 0, 0], strides = [1, 1]"
    types = "(tensor<1x64x4x4xf32>, tensor<4096x64x1x1xf32>) -> tensor<1x4096x4x4xf32>"
    op = op_of(f'%1 = "top.Conv"(%0, %0) {{group = 1 : i64, {window}}} : {types}')
    random = np.random.default_rng(3)
    x = random.standard_normal((1, 64, 4, 4)).astype(np.float32)
    weight = random.standard_normal((4096, 64, 1, 1)).astype(np.float32)
    weight[77] *= 1000
    call = Call(op.name, (np.float64(x), np.float64(weight)), op.attributes, *signature(op.types))
    total = np.zeros((1, 4096, 4, 4), np.float32)
    for channel in range(64):
        total += weight[:, channel].reshape(1, -1, 1, 1) * x[:, channel : channel + 1]
    assert judge(op, call, {0: total}).verdict == "quantisation"
    total[0, 5] *= np.float32(1.1)
    assert judge(op, call, {0: total}).verdict == "bug", "one of the small channels is off by a tenth"


def test_one_wrong_number_of_many_is_a_bug() -> None:
    example = of("tpu.Conv2D", "u8")
    kind = example.call.result
    assert kind is not None
    wrong = kind.stored(compute(example.call)[0]).copy()
    index = np.unravel_index(int(wrong.argmin()), wrong.shape)
    wrong[index] += 3 * kind.scale
    assert judged(example, wrong).verdict == "bug"
    assert judged(example, wrong).worst == tuple(map(int, index))


def test_nan_and_infinity_on_one_side_are_bugs() -> None:
    example = of("top.Sub")
    wrong = np.asarray(example.result, np.float64).copy()
    wrong.reshape(-1)[3] = np.nan
    assert judged(example, wrong).verdict == "bug"


def _naive(x: Array, w: Array, stride: int, dilation: int, pad: int, groups: int) -> Array:
    n, _, height, width = x.shape
    outer, inner, kh, kw = w.shape
    rows = (height + 2 * pad - (kh - 1) * dilation - 1) // stride + 1
    columns = (width + 2 * pad - (kw - 1) * dilation - 1) // stride + 1
    y = np.zeros((n, outer, rows, columns))
    for b, o, r, c in np.ndindex(*y.shape):
        for i, u, v in np.ndindex(inner, kh, kw):
            row, column = r * stride + u * dilation - pad, c * stride + v * dilation - pad
            if 0 <= row < height and 0 <= column < width:
                y[b, o, r, c] += x[b, o // (outer // groups) * inner + i, row, column] * w[o, i, u, v]
    return y


@given(
    st.integers(1, 2), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.integers(1, 2), st.integers(0, 99)
)
def test_a_convolution_is_its_sums(groups: int, kernel: int, stride: int, pad: int, dilation: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, w = random.standard_normal((2, 2 * groups, 6, 5)), random.standard_normal((2 * groups, 2, kernel, kernel))
    found = convolution(x, w, [kernel] * 2, [stride] * 2, [dilation] * 2, [pad] * 4, groups)
    np.testing.assert_allclose(found, _naive(x, w, stride, dilation, pad, groups), atol=1e-12)


@given(
    st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.integers(0, 1), st.integers(1, 2), st.integers(0, 99)
)
def test_a_transposed_convolution_is_the_transposed_map(
    groups: int, kernel: int, stride: int, pad: int, dilation: int, seed: int
) -> None:
    """<conv(y), x> = <y, deconv(x)> for all x and y."""
    random = np.random.default_rng(seed)
    reach = (kernel - 1) * dilation + 1
    size = 3 * stride + reach - 2 * pad
    if size < 1 or reach <= 2 * pad:
        return
    y, weight = (
        random.standard_normal((1, 2 * groups, size, size)),
        random.standard_normal((3 * groups, 2, kernel, kernel)),
    )
    forward = convolution(y, weight, [kernel] * 2, [stride] * 2, [dilation] * 2, [pad] * 4, groups)
    x = random.standard_normal(forward.shape)
    back = np.stack([weight[g * 3 : (g + 1) * 3].swapaxes(0, 1) for g in range(groups)]).reshape(-1, 3, kernel, kernel)
    attributes = {
        "kernel_shape": [kernel] * 2,
        "strides": [stride] * 2,
        "dilations": [dilation] * 2,
        "pads": [pad] * 4,
        "group": groups,
    }
    (found,) = compute(Call("top.Deconv", (x, back), attributes, (None, None), (None,)))
    whole = np.zeros_like(y)
    whole[..., : found.shape[2], : found.shape[3]] = found
    np.testing.assert_allclose((forward * x).sum(), (y * whole).sum(), atol=1e-9)


@given(st.floats(-300, 300), st.sampled_from(["HalfAwayFromZero", "HalfUp", "HalfToEven", "TowardsZero", "Down", "Up"]))
def test_rounding_goes_to_a_neighbour(number: float, mode: str) -> None:
    (found,) = rounded(np.array([number]), mode)
    assert found == round(found)
    assert abs(found - number) <= (0.5 if mode.startswith("Half") else 1)
    assert mode != "TowardsZero" or abs(found) <= abs(number)


@given(st.floats(-2e4, 2e4, width=32), st.sampled_from(["f16", "bf16", "f32"]))
def test_a_float_format_keeps_its_own_numbers_and_rounds_others_by_half_a_step(number: float, storage: str) -> None:
    kind = TensorType((1,), storage)
    once = kind.stored(np.array([number]))
    assert kind.stored(once) == once
    assert abs(once - number)[0] <= kind.step(np.array([number]))[0] / 2


def test_types_of_the_compiler_s_text() -> None:
    assert tensor_type("none") is None
    assert tensor_type("tensor<*xf32>") == TensorType(None, "f32")
    assert tensor_type("tensor<1x3x!quant.uniform<u8:f32, 0.5:128>>") == TensorType((1, 3), "u8", 0.5, 128, True, "f32")
    assert tensor_type("tensor<4x!quant.calibrated<f16<-1.0:1.0>>, 4096 : i64>") == TensorType(
        (4,), "f16", expressed="f16"
    )
    both = signature("(tensor<2xf32>, none) -> (tensor<2x1xf16>, none)")
    assert both == ((TensorType((2,), "f32"), None), (TensorType((2, 1), "f16"), None))


def test_what_nobody_has_written_is_taken_without_a_warning() -> None:
    """Signalling NaNs: a cast to float64 makes them quiet, and says so."""
    words = np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wide(words)
    assert np.isnan(found[0])
    assert found[1] == 1


@pytest.mark.parametrize(
    ("mode", "is_last", "indices"),
    [
        ("ArgMax", False, [1, 2, 1, 2, 2]),
        ("ArgMax", True, [5, 2, 5, 2, 2]),
        ("ArgMin", False, [0, 1, 0, 1, 1]),
        ("ArgMin", True, [4, 5, 4, 5, 1]),
    ],
)
def test_of_equal_numbers_the_first_or_the_last_is_chosen(mode: str, is_last: bool, indices: list[int]) -> None:
    """Indices are those of the compiler's interpreter (1.30.2)."""
    numbers = [[0, 1, 0, 1, 1], [2, 0, 2, 0, 0], [0, 2, 1, 2, 2], [0, 1, 1, 1, 1], [0, 1, 0, 0, 1], [2, 0, 2, 0, 1]]
    op = op_of(
        f'%0, %1 = "tpu.Arg"(%2) {{axis = 0 : i64, keepdims = false, mode = "{mode}", select_last_index = '
        f"{str(is_last).lower()}}} : (tensor<6x5xf32>) -> (tensor<5xi32>, none) loc(#loc)"
    )
    chosen, *_ = compute(Call(op.name, (np.array(numbers, np.float64),), op.attributes, *signature(op.types)))
    assert chosen.tolist() == indices
