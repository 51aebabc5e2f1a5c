"""Sums of products: the kernel, at every width of vectors and in threads, against NumPy and against the definition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import dot, float32, truncating
from tdb_dap.targets.arithmetic.halves import FLUSHED_F16
from tdb_dap.targets.arithmetic.products import Products, of_matrices
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.arithmetic.windows import Windows, padded
from tdb_dap.targets.chips.bm1684x import BM1684X
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families import pooling as pooling_family
from tdb_dap.targets.semantics import pooling
from tdb_dap.targets.semantics.registry import Operation
from tests.known import known
from tests.loops import each

needs_kernel = pytest.mark.skipif(not kernel.is_built, reason="the C kernel is not built")

SHAPES = [(1, 1, 1), (1, 5, 40), (3, 33, 17), (9, 64, 16), (20, 31, 3), (8, 70, 65)]
"""Rows, products, columns: full and partly filled vectors and groups, few columns that are exchanged with rows."""

BFLOAT16 = st.builds(
    lambda fraction, exponent, sign: sign * (1 + fraction / 128) * 2.0**exponent,
    st.integers(0, 127),
    st.sampled_from([*range(-63, 63, 7), *range(-3, 4)]),
    st.sampled_from([-1.0, 1.0]),
)

KINDS = ["plain", "tiny", "huge", "special"]


@pytest.fixture(params=kernel.widths())
def lanes(request: pytest.FixtureRequest) -> Iterator[int]:
    kernel.choose_width(request.param)
    yield request.param
    kernel.choose_width(kernel.widths()[-1])


def numbers(shape: tuple[int, ...], dtype: DType, kind: str, seed: int) -> np.ndarray:
    """Widened numbers of a format. tiny, huge: at the edges of its range; special: any bits, many of them NaN."""
    random = np.random.default_rng(seed)
    if kind == "special":
        top = 1 << (8 * dtype.itemsize)
        bits = random.integers(0, top, shape, np.uint64).astype(dtype.bits_dtype)
        signalling, infinity, one = {"f32": (0xFF800001, 0x7F800000, 1), "f16": (0xFC01, 0x7C00, 1)}.get(
            dtype.name, (0xFF81, 0x7F80, 1)
        )
        rare = random.random(shape)
        for low, word in ((0.0, signalling), (0.01, infinity), (0.03, infinity | top >> 1), (0.05, one), (0.06, 0)):
            bits[(rare >= low) & (rare < low + 0.01)] = word
        # Every second row holds finite numbers, so that not all sums are NaN.
        tame = dtype.encode(random.standard_normal(shape).astype(np.float32))
        bits[::2] = np.where(rare[::2] < 0.01, bits[::2], tame[::2])
        return dtype.widen(bits)
    least = -63 if dtype.name != "f16" else -7  # of factors whose products are at the lower end of the range
    spread = {"plain": 1.0, "tiny": 2.0**least, "huge": 2.0**62}[kind]
    drawn = random.standard_normal(shape) * spread * 2.0 ** random.integers(-3, 4, shape)
    drawn[random.random(shape) < 0.1] = 0
    with np.errstate(over="ignore"):
        return dtype.widen(dtype.encode(drawn.astype(np.float32)))


def scattered(products: Products, seed: int) -> Products:
    """The same image read through other, overlapping places, as a convolution does, some taps blank."""
    random = np.random.default_rng(seed)
    half = max(1, products.image.size // 2)
    taps = random.integers(0, half, products.taps.size)
    taps[random.random(taps.size) < 0.1] = -1
    return replace(products, taps=taps, places=np.sort(random.integers(0, half, products.places.size)))


def same(a: np.ndarray, b: np.ndarray) -> None:
    """The same bits, NaNs included."""
    np.testing.assert_array_equal(np.ascontiguousarray(a).view(np.uint32), np.ascontiguousarray(b).view(np.uint32))


@needs_kernel
@each("kind", KINDS)
@each("shape", SHAPES)
def test_interleaved_chains_are_numpys(lanes: int, shape: tuple[int, int, int], kind: str) -> None:
    rows, count, columns = shape
    left, right = numbers((rows, count), F32, kind, 1), numbers((count, columns), F32, kind, 2)
    left, right = float32.flush(left), float32.flush(right)
    start, old = numbers((rows, 1), F32, "plain", 3), numbers((rows, columns), F32, kind, 4)
    for products in (of_matrices(left, right), scattered(of_matrices(left, right), 5)):
        for first, before in ((None, None), (start, None), (start, float32.flush(old))):
            normal = kind == "plain"
            with kernel.switched(True), np.errstate(all="ignore"):
                fast = dot.interleaved(first, before, products, normal)
            with kernel.switched(False), np.errstate(all="ignore"):
                slow = dot.interleaved(first, before, products, normal)
            same(fast, slow)


@needs_kernel
@each("kind", KINDS)
@each("shape", SHAPES)
def test_sums_toward_zero_are_numpys(lanes: int, shape: tuple[int, int, int], kind: str) -> None:
    """Factors of bfloat16; starts that cancel, that are subnormal, and none; what is no number may be any one."""
    rows, count, columns = shape
    left, right = (
        truncating.operand(BF16.encode(numbers(size, BF16, kind, seed)))
        for size, seed in (((rows, count), 1), ((count, columns), 2))
    )
    cancelling = -np.asarray(left[:, :1] * right[:1], np.float32)
    starts = [np.zeros((1, 1), np.float32), cancelling, np.full((1, 1), 2.0**-130, np.float32)]
    for products in (of_matrices(left, right), scattered(of_matrices(left, right), 5)):
        for start in starts:
            results = []
            for on in (True, False):
                with kernel.switched(on), np.errstate(all="ignore"):
                    results.append(dot.truncated(products, start))
            is_number = ~np.isnan(results[1])
            np.testing.assert_array_equal(np.isnan(results[0]), ~is_number)
            same(results[0][is_number], results[1][is_number])


@needs_kernel
@each("kind", KINDS)
def test_windows_toward_zero_are_numpys(lanes: int, kind: str) -> None:
    images = [truncating.operand(BF16.encode(numbers((6, 9 * 11), BF16, kind, seed))) for seed in (3, 4)]
    weights = truncating.operand(BF16.encode(numbers((6, 9), BF16, kind, 5)))
    offsets = (np.arange(3)[:, None] * 11 + np.arange(3)).reshape(-1)
    for image, (size, steps) in product(images, [((7, 9), (11, 1)), ((4, 5), (22, 2))]):
        results = []
        for on in (True, False):
            with kernel.switched(on), np.errstate(all="ignore"):
                results.append(dot.truncated_windows(Windows(image, offsets, size, steps), weights))
        is_number = ~np.isnan(results[1])
        np.testing.assert_array_equal(np.isnan(results[0]), ~is_number)
        same(results[0][is_number], results[1][is_number])


@settings(deadline=None)
@given(st.lists(st.tuples(BFLOAT16, BFLOAT16), min_size=1, max_size=8))
def test_sums_toward_zero_are_what_their_definition_says(pairs: list[tuple[float, float]]) -> None:
    """In rational arithmetic; small next to large numbers of either sign among them."""
    left, right = (np.array([factors], np.float32) for factors in zip(*pairs, strict=True))
    exact = Fraction(0)
    for a, b in pairs:
        term = Fraction(a) * Fraction(b)
        exact += term if abs(term) >= Fraction(2) ** -126 else 0
        if exact:
            unit = Fraction(2) ** (math.frexp(float(abs(exact)))[1] - 25)  # finer than the last bit
            while abs(exact) >= unit * 2**24:
                unit *= 2
            exact = math.trunc(exact / unit) * unit
        if abs(exact) < Fraction(2) ** -126:
            exact = Fraction(0)
    total = dot.truncated(of_matrices(left, right.T), np.zeros((1, 1), np.float32))
    assert Fraction(float(total.item())) == exact


@needs_kernel
def test_a_nan_that_arises_in_a_fast_chain_is_the_careful_one(lanes: int) -> None:
    left = np.ones((3, 6), np.float32)
    left[1, 2] = np.inf
    right = np.ones((6, 40), np.float32)
    right[2, ::3] = 0
    right[4, ::5] = np.array([0xFFC12345], np.uint32).view(np.float32)[0]
    results = []
    for on in (True, False):
        with kernel.switched(on), np.errstate(all="ignore"):
            results.append(dot.interleaved(None, None, of_matrices(left, right), True))
    same(*results)
    words = results[0].view(np.uint32)[1]
    assert words[15] == 0xFFC00000, "infinity * 0 comes before the NaN"
    assert words[5] == 0xFFC12345


@needs_kernel
@each("nan_wins", [False, True])
@each("dtype", [F16, BF16])
@each("kind", KINDS)
@each("shape", SHAPES)
def test_grouped_sums_are_numpys(
    lanes: int, shape: tuple[int, int, int], kind: str, dtype: DType, nan_wins: bool
) -> None:
    rows, count, columns = shape
    left, right = (
        float32.operand(numbers(size, dtype, kind, seed), dtype)
        for size, seed in (((rows, count), 11), ((count, columns), 12))
    )
    totals = float32.flush(numbers((rows, columns), F32, kind, 13))
    for products in (of_matrices(left, right), scattered(of_matrices(left, right), 15)):
        for size in (16, 32, 64):
            with kernel.switched(True), np.errstate(all="ignore"):
                fast = dot.grouped(totals, products, size, nan_wins)
            with kernel.switched(False), np.errstate(all="ignore"):
                slow = dot.grouped(totals, products, size, nan_wins)
            same(fast, slow)


@each("exponent", [-130, -110, -80, -62, 0, 60, 100])
def test_a_group_is_what_its_definition_says(sums: str, exponent: int) -> None:
    """Exact products, cut off toward zero below the largest one's 24th bit, summed exactly and rounded once."""
    random = np.random.default_rng(exponent & 0xFF)
    half = exponent // 2
    left = BF16.widen(BF16.encode((random.standard_normal((4, 32)) * 2.0**half).astype(np.float32)))
    right = BF16.widen(BF16.encode((random.standard_normal((32, 20)) * 2.0 ** (exponent - half)).astype(np.float32)))
    right[random.random(right.shape) < 0.2] *= np.float32(2.0**-12)
    got = dot.grouped(np.zeros((4, 20), np.float32), of_matrices(left, right), 32)
    for row in range(4):
        for column in range(20):
            assert Fraction(float(got[row, column])) == defined(left[row], right[:, column])


@needs_kernel
@each("name", ["add", "subtract", "multiply"])
@each("kind", KINDS)
def test_operations_on_elements_are_numpys(lanes: int, kind: str, name: str) -> None:
    a = float32.flush(numbers((5, 7, 61), F32, kind, 31))
    edge = numbers((5, 7, 61), F32, "plain", 32)
    with np.errstate(all="ignore"):  # products around the smallest normal number
        edge[0] = np.float32(2.0**-126) / np.where(a[0] == 0, np.float32(1), a[0])
    for b in (float32.flush(numbers((5, 7, 61), F32, kind, 33)), float32.flush(edge), float32.flush(edge[:, :1, :1])):
        with kernel.switched(True), np.errstate(all="ignore"):
            fast = getattr(float32, name)(a, b)
        with kernel.switched(False), np.errstate(all="ignore"):
            slow = getattr(float32, name)(a, b)
        same(fast, slow)


@needs_kernel
@each("start", ["none", "zero", "number"])
@each("dtype", [F32, F16, BF16, FLUSHED_F16])
@each("kind", KINDS)
def test_depthwise_sums_are_numpys(lanes: int, kind: str, dtype: DType, start: str) -> None:
    """Through the semantic function: bias or none, kernels of odd and even size, strides, planes small and large."""
    for (rows, columns), (high, wide), step in (
        ((1, 1), (8, 9), 1),
        ((2, 2), (8, 9), 2),
        ((3, 3), (8, 9), 1),
        ((3, 3), (50, 47), 1),
    ):
        values = {
            "input": Value(dtype.encode(numbers((2, 5, high, wide), dtype, kind, 21)), dtype),
            "kernel": Value(dtype.encode(numbers((1, 5, rows, columns), dtype, kind, 22)), dtype),
            "bias": Value(np.zeros((1, 1, 1, 1), np.uint32), F32, is_constant=True)
            if start == "zero"
            else Value(numbers((1, 5, 1, 1), F32, kind, 23).view(np.uint32), F32),
        }
        height, width = (high - rows) // 2 + 1, (wide - columns) // step + 1
        fields = {"opd1_h": rows, "opd1_w": columns, "res_op_y_str": 2, "res_op_x_str": step, "opd1_y_ins0": 0}
        fields |= {"opd1_x_ins0": 0, "res0_n": 2, "res0_c": 5, "res0_h": height, "res0_w": width, "res1_addr": 0}
        sub = pooling_family.AVERAGE if start == "none" else pooling_family.DEPTHWISE
        shape = (2, 5, height, width)
        for negative in (False, True):
            rules = replace(known(BM1684X.rules), negative_zero_start=negative)
            operation = Operation(values, {"result": F32}, {"result": shape}, fields_of(fields, sub), rules)
            results = []
            for on in (True, False):
                with kernel.switched(on), np.errstate(all="ignore"):
                    results.append(pooling.weighted(operation))
            np.testing.assert_array_equal(results[0], results[1])


def fields_of(values: dict[str, int], sub: int) -> Fields:
    return Fields(values, sub, BM1684X.geometry, 0, {})


def defined(left: np.ndarray, right: np.ndarray) -> Fraction:
    """The sum of one group in rational arithmetic."""
    exact = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(left, right, strict=True)]
    kept = [p for p in exact if abs(p) >= Fraction(2) ** -126]
    if not kept:
        return Fraction(0)
    largest = max(map(abs, kept))  # over a power of two
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    assert exponent < 128
    unit = Fraction(2) ** (exponent - 24)
    total = sum(math.trunc(p / unit) for p in kept) * unit
    nearest = Fraction(float(np.float32(float(total))))  # a float64 holds the sum of 32 numbers of 25 bits
    return nearest if abs(nearest) >= Fraction(2) ** -126 else Fraction(0)


def test_chains_are_what_their_definition_says(sums: str) -> None:
    """Bias first, then products by turns into two accumulators, every step rounded, both added at the end."""
    random = np.random.default_rng(3)
    left = random.standard_normal((9, 25)).astype(np.float32)
    right = random.standard_normal((25, 37)).astype(np.float32)
    start = random.standard_normal((9, 1)).astype(np.float32)
    got = dot.interleaved(start, None, of_matrices(left, right), True)
    for row in range(9):
        for column in range(37):
            accumulators = [start[row, 0], np.float32(0)]
            for k in range(25):
                accumulators[(k + 1) % 2] += left[row, k] * right[k, column]
            assert got[row, column] == accumulators[0] + accumulators[1]


@each("limit", [2, 128, 255, 32768, 1 << 20])
def test_products_of_integers_are_exact(sums: str, limit: int) -> None:
    """Sums far beyond what float32 holds, of numbers of up to 21 bits."""
    random = np.random.default_rng(limit)
    left = random.integers(-limit, limit, (7, 2300))
    right = random.integers(-limit, limit + 1, (2300, 19))
    left[0], right[:, 0] = limit - 1, limit
    np.testing.assert_array_equal(dot.exact_product(left, right), left @ right)


@needs_kernel
def test_how_work_is_split_among_threads_does_not_show() -> None:
    random = np.random.default_rng(8)
    left = random.standard_normal((70, 300)).astype(np.float32)
    right = random.standard_normal((300, 333)).astype(np.float32)
    products = of_matrices(left, right)
    zeros = np.zeros((70, 333), np.float32)
    with kernel.switched(True):
        together = [dot.interleaved(None, None, products, True), dot.grouped(zeros, products, 32)]
        with kernel.shared(5, worth=1):
            apart = [dot.interleaved(None, None, products, True), dot.grouped(zeros, products, 32)]
    for a, b in zip(together, apart, strict=True):
        same(a, b)


def test_the_kernel_says_whether_it_works() -> None:
    with kernel.switched(False):
        assert kernel.describe().startswith("NumPy")
    if kernel.is_built:
        with kernel.switched(True):
            assert kernel.describe().startswith("C kernel")
    else:
        with pytest.raises(RuntimeError, match="compiler"), kernel.switched(True):
            pass


@pytest.mark.parametrize("mode", [0, 2])
def test_a_convolution_has_a_constant_of_its_own_between_elements(mode: int) -> None:
    """The transposed convolution of a tensor with a zero point: the border and what is between are that, not 0."""
    fields = {"opd0_y_ins0": 1, "opd0_x_ins0": 2, "opd0_up_pad": 1, "opd0_dn_pad": 0, "opd0_lf_pad": 0}
    fields |= {"opd0_rt_pad": 0, "pad_mode": mode}
    border = Value(np.full((1, 1, 1, 1), 0xED, np.uint8), SI8, is_constant=True)
    words = np.arange(1, 5, dtype=np.uint8).reshape(1, 1, 2, 2)
    rows = padded(words, fields_of(fields, 0), border, 0xFFFFFFFE)[0, 0].tolist()
    inner = [[1, 0xFE, 0xFE, 2], [0xFE] * 4, [3, 0xFE, 0xFE, 4]]
    assert rows == [[0xED] * 4 if mode == 0 else inner[0], *inner]
