"""Bounds of the error inside of an op: held by every order and format of its sums, and broken by faults."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.bounds import gamma, inner_bound, of_sizes
from tdb_dap.tools.golden.formats import TensorType, signature
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.golden.library import Call, compute
from tests.golden.judging import judge
from tests.golden.test_library import op_of

CONV = "kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1], dilations = [1, 1], do_relu = false"


def call_of(text: str, *inputs: Array) -> Call:
    """A call of an op of one line of MLIR."""
    op = op_of(text)
    return Call(op.name, inputs, op.attributes, *signature(op.types))


def verdict(text: str, result: Array, *inputs: Array) -> Judged:
    return judge(op_of(text), call_of(text, *inputs), {0: result})


def result_type(call: Call) -> TensorType:
    assert call.result is not None
    return call.result


def summed(terms: Array, kind: type[np.floating], is_truncated: bool) -> Array:
    """Sums along the last axis, one term after the other, each sum rounded to a format."""
    total = np.zeros(terms.shape[:-1])
    for index in range(terms.shape[-1]):
        wide = total + terms[..., index]
        total = np.asarray(wide.astype(kind), np.float64)
        if is_truncated:
            beyond = np.abs(total) > np.abs(wide)
            total = np.where(beyond, np.nextafter(total.astype(kind), kind(0)).astype(np.float64), total)
    return total


@given(
    seed=st.integers(0, 2**32 - 1),
    terms=st.sampled_from([2, 7, 64, 500]),
    offset=st.sampled_from([0.0, 3.0, 1e4]),
    is_truncated=st.booleans(),
)
def test_no_order_and_rounding_of_a_matrix_product_in_f32_breaks_its_bound(
    seed: int, terms: int, offset: float, is_truncated: bool
) -> None:
    """Terms that cancel: the result is small, the sums on the way are not."""
    random = np.random.default_rng(seed)
    left = random.normal(offset, 1, (1, 4, terms)).astype(np.float32).astype(np.float64)
    right = (random.normal(0, 1, (terms, 5)) * np.exp(random.normal(0, 3, (terms, 1)))).astype(np.float32)
    call = call_of(
        f'%2 = "tpu.MatMul"(%0, %1) : (tensor<1x4x{terms}xf32>, tensor<{terms}x5xf32>) -> tensor<1x4x5xf32>',
        left,
        right.astype(np.float64),
    )
    (exact,) = compute(call)
    order = random.permutation(terms)
    products = (left[:, :, None, :] * right.T.astype(np.float64)[None, None])[..., order]
    result = summed(products, np.float32, is_truncated)
    assert (
        np.abs(result - exact) <= inner_bound(call, 0, exact, result_type(call), lambda: of_sizes(call, 0, exact))
    ).all()


@given(seed=st.integers(0, 2**32 - 1), storage=st.sampled_from(["f16", "bf16"]))
def test_a_convolution_of_single_channels_may_add_up_in_its_own_format(seed: int, storage: str) -> None:
    random = np.random.default_rng(seed)
    kind = TensorType(None, storage)
    x, weight = kind.stored(random.normal(0, 1, (1, 6, 8, 8))), kind.stored(random.normal(0.3, 1, (6, 1, 3, 3)))
    shape = f"tensor<1x6x8x8x{storage}>"
    text = f'%2 = "tpu.Conv2D"(%0, %1) {{group = 6 : i64, {CONV}}} : ({shape}, tensor<6x1x3x3x{storage}>) -> {shape}'
    patches = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    total = np.zeros(x.shape)
    for row, column in np.ndindex(3, 3):
        total = kind.stored(
            total + kind.stored(patches[..., row, column] * weight[None, :, 0, row, column, None, None])
        )
    assert verdict(text, total, x, weight).verdict in ("quantisation", "exact")
    faulty = kind.stored(total - patches[..., 2, 2] * weight[None, :, 0, 2, 2, None, None])
    assert verdict(text, faulty, x, weight).verdict == "bug", "a term is missing"


@pytest.mark.parametrize("storage", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["AddConst", "MulConst", "SubConst"])
def test_a_constant_may_be_held_in_the_op_s_format(name: str, storage: str) -> None:
    """Operands of one binade: every sum is the same part of a step away from the nearest number."""
    kind = TensorType(None, storage)
    x = kind.stored(np.random.default_rng(3).uniform(4, 8, (1, 4, 16, 16)))
    constant = 0.58805769681930542
    shape = f"tensor<1x4x16x16x{storage}>"
    text = f'%1 = "tpu.{name}"(%0) {{const_val = {constant} : f64, do_relu = false}} : ({shape}) -> {shape}'
    held = float(kind.stored(np.array([constant]))[0])
    result = {"AddConst": x + held, "MulConst": x * held, "SubConst": x - held}[name]
    assert verdict(text, kind.stored(result), x).verdict in ("quantisation", "exact")
    assert verdict(text, kind.stored(result * 1.02), x).verdict == "bug"


def test_a_softmax_of_many_small_terms_in_f16_loses_them() -> None:
    """Terms below half a step of the sum leave it unchanged: the greatest share comes out too large."""
    x = np.full((1, 6625), -8.0)
    x[0, 0], x[0, 1] = 2.0, 1.0
    kind = TensorType(None, "f16")
    terms = kind.stored(np.exp(x - 2))
    total = summed(terms, np.float16, False)
    result = kind.stored(terms / total[..., None])
    exact = np.exp(x - 2) / np.exp(x - 2).sum()
    assert result[0, 0] / exact[0, 0] > 1.2
    shape = "tensor<1x6625xf16>"
    text = f'%1 = "tpu.Softmax"(%0) {{axis = 1 : si32, beta = 1.0 : f64, log = false}} : ({shape}) -> {shape}'
    assert verdict(text, result, x).verdict == "quantisation"
    shifted = np.roll(result, 1, axis=-1)
    assert verdict(text, shifted, x).verdict == "bug", "the same shares at other places"


@pytest.mark.parametrize("storage", ["f16", "bf16", "f32"])
def test_a_function_whose_derivative_is_zero_still_rounds(storage: str) -> None:
    """x / (1 + exp(-x)) near its least value, each operation rounded in the format."""
    kind = TensorType(None, storage)
    x = kind.stored(np.linspace(-12, 12, 4096).reshape(1, 64, 64))
    with np.errstate(over="ignore"):
        steps: list[Callable[[Array], Array]] = [lambda y: np.exp(-y), lambda y: 1 + y, lambda y: 1 / y]
        y = x
        for step in steps:
            y = kind.stored(step(y))
    shape = f"tensor<1x64x64x{storage}>"
    text = f'%1 = "tpu.Active"(%0) {{mode = #tpu<active_mode SILU>}} : ({shape}) -> {shape}'
    assert verdict(text, kind.stored(x * y), x).verdict == "quantisation"
    assert verdict(text, kind.stored(1.05 * x * y), x).verdict == "bug"


@pytest.mark.parametrize("storage", ["f16", "bf16"])
def test_gelu_may_lose_a_sum_that_cancels(storage: str) -> None:
    """x / 2 * (1 + erf(x / sqrt 2)), each operation rounded in the format: nothing is left of it from about -3 on."""
    kind = TensorType(None, storage)
    x = kind.stored(np.linspace(-5, 5, 4096).reshape(1, 64, 64))
    shape = f"tensor<1x64x64x{storage}>"
    text = f'%1 = "tpu.Active"(%0) {{mode = #tpu<active_mode GELU>}} : ({shape}) -> {shape}'
    (exact,) = compute(call_of(text, x))
    erf = kind.stored(np.where(x == 0, 0, 2 * exact / np.where(x == 0, 1, x) - 1))
    halves = kind.stored(kind.stored(1 + erf) / 2)
    assert not halves[x < -4].any()
    assert verdict(text, kind.stored(halves * x), x).verdict == "quantisation"
    assert verdict(text, kind.stored(1.1 * exact), x).verdict == "bug"
    assert verdict(text, kind.stored(np.maximum(x, 0)), x).verdict == "bug", "another function"


@pytest.mark.parametrize(("expressed", "verdict_of_narrow"), [("bf16", "quantisation"), ("f32", "bug")])
def test_the_factor_of_a_cast_may_be_a_narrow_float(expressed: str, verdict_of_narrow: str) -> None:
    """Where the stored numbers stand for bfloat16, the product with the factor is rounded to it, and then to words."""
    bf16, scale = TensorType(None, "bf16"), 0.0323081354
    x = bf16.stored(np.linspace(0, 4.05, 1024).reshape(1, 32, 32))
    shape = "tensor<1x32x32x"
    text = (
        f'%1 = "tpu.Cast"(%0) {{round_mode = #tpu<round_mode HalfAwayFromZero>}} : ({shape}bf16>) -> '
        f"{shape}!quant.uniform<i8:{expressed}, {scale}>>"
    )
    words = np.floor(bf16.stored(x * bf16.stored(np.array(1 / scale))) + 0.5)
    assert np.abs(words - x / scale).max() > 0.6
    assert verdict(text, words * scale, x).verdict == verdict_of_narrow
    assert verdict(text, (words + 2 * (words > 0)) * scale, x).verdict == "bug", "two steps off"


@pytest.mark.parametrize(("approximation", "factor"), [("tanh", 0.044715), ("sigmoid", 0.0)])
def test_gelu_of_the_dialect_tpu_has_approximations(approximation: str, factor: float) -> None:
    x = np.linspace(-4, 4, 1024).reshape(1, 32, 32)
    text = (
        f'%1 = "tpu.Active"(%0) {{approx_mode = "{approximation}", mode = #tpu<active_mode GELU>}} : '
        "(tensor<1x32x32xf32>) -> tensor<1x32x32xf32>"
    )
    slope = np.sqrt(8 / np.pi) if factor else 1.702
    result = x / (1 + np.exp(-slope * (x + factor * x**3)))
    assert verdict(text, result.astype(np.float32), x).verdict == "quantisation"
    exact = text.replace(approximation, "normal")
    assert verdict(exact, result.astype(np.float32), x).verdict == "bug"


def test_gamma_grows_with_terms_and_is_at_least_one_rounding_a_term() -> None:
    grown = [gamma(terms, 2.0**-9) for terms in range(1, 2048)]
    assert grown == sorted(grown)
    assert all(bound >= terms * 2.0**-9 for terms, bound in enumerate(grown, 1))


def test_a_long_sum_in_bf16_is_judged() -> None:
    """Added in turn, 512 terms lose half of their sum, as small ones no longer count; four times the sum is a fault."""
    op = op_of(
        '%1 = "tpu.Reduce"(%0) {axes = [1], keepdims = true, mode = "ReduceSum"} : '
        "(tensor<64x512xbf16>) -> tensor<64x1xbf16>"
    )
    kinds = signature(op.types)
    numbers = np.abs(np.random.default_rng(1).normal(1, 0.2, (64, 512)))
    call = Call(op.name, (numbers,), op.attributes, *kinds)
    (exact,) = compute(call)
    kind = kinds[1][0]
    assert kind is not None

    def verdict(result: Array) -> str:
        return judge(op, call, {0: result}).verdict

    in_turn = np.zeros((64, 1))
    for column in numbers.T:
        in_turn = kind.stored(in_turn + column[:, None])
    assert verdict(in_turn) == "quantisation"
    assert verdict(kind.stored(4 * exact)) == "bug"


SCORES = '%2 = "tpu.MatMul"(%0, %1) : (tensor<1x4x8xf16>, tensor<8x4xf16>) -> tensor<1x4x4xf16>'


def scores() -> tuple[Array, Array, Array]:
    """Operands, and a product with two numbers beyond 65504."""
    left, right = np.ones((1, 4, 8)), np.ones((8, 4))
    left[0, 1, :], right[:, 2] = 100.0, 90.0
    left[0, 3, :] = 200.0
    return left, right, left @ right


@pytest.mark.parametrize("chip", [np.inf, 65504.0])
def test_numbers_beyond_the_range_are_an_overflow(chip: float) -> None:
    """Infinite, or the greatest number on a chip that saturates."""
    left, right, exact = scores()
    result = np.where(exact > 65504, chip, TensorType(None, "f16").stored(np.minimum(exact, 65504)))
    judged = verdict(SCORES, result, left, right)
    assert (judged.verdict, judged.overflowed, judged.largest) == ("overflow", 2 / 16, 144000.0)


def test_infinite_numbers_within_the_range_are_a_bug() -> None:
    left, right, exact = scores()
    result = np.where(exact > 1000, np.inf, exact)
    assert verdict(SCORES, result, left, right).verdict == "bug"
    other = np.where(exact > 65504, -np.inf, exact)
    assert verdict(SCORES, other, left, right).verdict == "overflow", "sums of both signs overflow either way"


def test_what_follows_from_infinite_operands_is_not_judged() -> None:
    left, right, _ = scores()
    tainted = left.copy()
    tainted[0, 0, 0] = np.inf
    (exact,) = compute(call_of(SCORES, tainted, right))
    result = np.where(np.isfinite(exact), exact, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged = verdict(SCORES, np.where(result > 65504, np.inf, result), tainted, right)
        nothing = verdict(SCORES, np.full((1, 4, 4), np.nan), np.full((1, 4, 8), np.nan), right)
    assert judged.verdict == "overflow"
    assert nothing.verdict == "unknown"
    wrong = replace(call_of(SCORES, tainted, right))
    assert judge(op_of(SCORES), wrong, {0: np.where(np.isfinite(exact), -exact, exact)}).verdict == "bug"


def test_zeros_prove_nothing() -> None:
    left, right = np.zeros((1, 4, 8)), np.ones((8, 4))
    judged = verdict(SCORES, np.zeros((1, 4, 4)), left, right)
    assert (judged.verdict, judged.is_zero) == ("exact", True)
    assert verdict(SCORES, np.ones((1, 4, 4)), left, right).verdict == "bug"


def test_floats_of_eight_bits_are_not_judged() -> None:
    """Their scale is not in their type: a stored 448 may stand for 1."""
    kind = "tensor<1x4x!quant.calibrated<f8E4M3FN<-1.0:1.0>>>"
    text = f'%1 = "tpu.RequantFp"(%0) {{scale = 448.0 : f64}} : (tensor<1x4xf32>) -> {kind}'
    judged = verdict(text, np.ones((1, 4)), np.ones((1, 4)))
    assert (judged.verdict, "8-bit floats" in judged.reason) == ("unknown", True)
