"""Float arithmetic as the chip does it: float32 with flush-to-zero, and rounding to 16 bits.

Subnormal float32 operands count as signed zero and subnormal results become signed zero; so it is for bf16, which is
computed in float32. The floating-point mode of the process is never touched: every function states where it flushes.
Tininess is judged after rounding, as the x86 hosts of the vendor's simulator do it: a product whose rounded value is
exactly 2^-126 is kept only if its exact value is at least (1 - 2^-25) * 2^-126.
"""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, Array, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import elements
from tdb_dap.targets.arithmetic.halves import without_subnormals
from tdb_dap.targets.kernel.constants import Operator, Reciprocal

SMALLEST_NORMAL = np.float32(2.0**-126)
_EXPONENT = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)
_LARGEST_SUBNORMAL = np.uint32(0x00FFFFFE)
_QUIET = np.uint32(0x00400000)
_INVALID = np.uint32(0xFFC00000)


def flush(numbers: Array) -> Array:
    """float32 with subnormals replaced by zero of their sign; the same array if there are none."""
    numbers = np.asarray(numbers, np.float32)
    words = np.ascontiguousarray(numbers).view(np.uint32).reshape(numbers.shape)
    # Without the sign, less one: zeros wrap around, subnormals stay small.
    sizes = words << np.uint32(1)
    sizes -= np.uint32(1)
    if not sizes.size or sizes.min() >= _LARGEST_SUBNORMAL:
        return numbers
    subnormal = sizes < _LARGEST_SUBNORMAL
    return np.where(subnormal, words & _SIGN, words).astype(np.uint32).view(np.float32)


def settle_nan(result: Array, a: Array, b: Array) -> Array:
    """``result`` of an operation on a and b with its NaNs as SSE gives them, whatever order NumPy computed in.

    The first operand's NaN with the quiet bit set, else the second's, else (an invalid operation) 0xffc00000.
    """
    undefined = np.isnan(result)
    if not undefined.any():
        return result
    first, second, words = (
        np.ascontiguousarray(np.broadcast_to(x, result.shape), np.float32).view(np.uint32) for x in (a, b, result)
    )
    chosen = np.where(_is_nan(first), first | _QUIET, np.where(_is_nan(second), second | _QUIET, _INVALID))
    return np.where(undefined, chosen, words).astype(np.uint32).view(np.float32)


def _is_nan(words: Array) -> Array:
    return (words & np.uint32(0x7FFFFFFF)) > _EXPONENT


def add(a: Array, b: Array) -> Array:
    """a + b in float32; operands are taken as flushed."""
    if kernel.is_active():
        return kernel.elementwise(Operator.ADD, a, b)
    return flush(settle_nan(a + b, a, b))


def subtract(a: Array, b: Array) -> Array:
    """a - b in float32; operands are taken as flushed."""
    if kernel.is_active():
        return kernel.elementwise(Operator.SUBTRACT, a, b)
    return flush(settle_nan(a - b, a, b))


def multiply(a: Array, b: Array) -> Array:
    """a * b in float32; operands are taken as flushed."""
    if kernel.is_active():
        return kernel.elementwise(Operator.MULTIPLY, a, b)
    product = np.asarray(a * b, np.float32)
    edge = np.abs(product) == SMALLEST_NORMAL
    if edge.any():
        exact = np.abs(np.asarray(a, np.float64) * np.asarray(b, np.float64))
        tiny = edge & (exact < (1 - 2.0**-25) * 2.0**-126)
        product = np.where(tiny, np.copysign(np.float32(0), product), product).astype(np.float32)
    return flush(settle_nan(product, a, b))


def round_to(numbers: Array, dtype: DType) -> Array:
    """float32 ``numbers`` rounded half to even to a 16-bit format and widened again; float32 as they are."""
    if dtype is F32:
        return numbers
    return without_subnormals(dtype.widen(dtype.encode(numbers)), dtype)


def product_in(a: Array, b: Array, dtype: DType) -> Array:
    """a * b rounded to ``dtype``.

    bf16: tininess is judged on the product rounded to 8 bits, so that from (1 - 2^-9) * 2^-126 on it is 2^-126
    and below it is zero.
    """
    if dtype is F32:
        return multiply(a, b)
    if dtype.name == "f16":
        return round_to(settle_nan(np.asarray(a * b, np.float32), a, b), dtype)
    exact = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    size = np.abs(exact)
    small = size < 2.0**-126
    if small.any():
        kept = np.where(size < (1 - 2.0**-9) * 2.0**-126, 0.0, 2.0**-126)
        exact = np.where(small, np.copysign(kept, exact), exact)
    return round_to(settle_nan(exact.astype(np.float32), a, b), dtype)


def operand(numbers: Array, dtype: DType) -> Array:
    """Widened numbers as arithmetic takes them: float32 and bf16 flushed, f16 with the subnormals that the chip has."""
    return without_subnormals(numbers, dtype) if dtype.name == "f16" else flush(numbers)


def compared(numbers: Array, dtype: DType) -> Array:
    """Widened numbers as comparisons take them: float32 and bf16 flushed, f16 with its subnormals on every chip."""
    return numbers if dtype.name == "f16" else flush(numbers)


def stays_normal(*terms: tuple[Array, ...]) -> bool:
    """True if no sum of products can be subnormal, whatever the order of additions.

    ``terms``: factors of each kind of summand. Every summand is a multiple of 2^(sum of the smallest exponents - 23),
    and so is every rounded partial sum; if that quantum is at least 2^-126 nothing can fall below it.
    """
    return all(sum(exponent_range(factor)[0] for factor in factors) - 23 >= -126 for factors in terms)


def exponent_range(numbers: Array) -> tuple[int, int]:
    """Exponents of the smallest magnitude but zero and of the largest finite one; far apart if there are none.

    Subnormals count as exponent -127.
    """
    values = np.ascontiguousarray(numbers, np.float32)
    sizes = values.view(np.uint32) & np.uint32(0x7FFFFFFF)
    largest = int(sizes.max(initial=0))
    if largest >= _EXPONENT:
        largest = int(sizes[sizes < _EXPONENT].max(initial=0))
    if largest == 0:
        return 1 << 20, -(1 << 20)
    # Zeros wrap around to the largest word.
    smallest = int((sizes - np.uint32(1)).min()) + 1
    return (smallest >> 23) - 127, (largest >> 23) - 127


def reciprocal_sqrt(numbers: Array, steps: int, dtype: DType) -> Array:
    """1 / sqrt(x) by ``steps`` Newton steps r = r * (1.5 - (0.5*x * r) * r) from r = bits(M - (bits(x) >> 1)).

    M is 0x5f3759df (f32), 0x59ba (f16) or 0x5f37 (bf16); no fused operations, every step rounded to ``dtype``.
    Special values are not treated: the formula runs on their bits.
    """
    roots = elements.reciprocal_roots(elements.in_float32(numbers), steps, dtype)
    if roots is not None:
        return roots.view(np.float32)
    three_halves = np.full((1,) * np.ndim(numbers), 1.5, np.float32)
    bits = dtype.encode(numbers) if dtype is not F32 else np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    magic = np.array({"f32": 0x5F3759DF, "f16": 0x59BA, "bf16": 0x5F37}[dtype.name], bits.dtype)
    # On float32 the shift is arithmetic: a set sign bit is drawn in.
    shifted = (bits.view(np.int32) >> 1).view(np.uint32) if dtype is F32 else bits >> np.uint16(1)
    with np.errstate(over="ignore"):
        result = dtype.widen((magic - shifted).astype(bits.dtype))
    x_half = product_in(operand(numbers, dtype), np.full(np.shape(numbers), 0.5, np.float32), dtype)
    for _ in range(steps):
        result = operand(result, dtype)
        square = product_in(product_in(x_half, result, dtype), result, dtype)
        rest = round_to(subtract(three_halves, square), dtype)
        result = product_in(result, rest, dtype)
    return result


def divide(a: Array, b: Array, steps: int, dtype: DType, rule: Reciprocal = Reciprocal.BY_FORMULA) -> Array:
    """a / b = a * copysign(r * r, b) with r = 1/sqrt(|b|) by Newton steps: not correctly rounded.

    a, b: widened operands of one shape. Unless ``rule`` is BY_FORMULA, r is infinite for zeros and zero for infinities;
    with TRUE_ZEROS a subnormal divided by zero is infinite, too.
    """
    left, right = elements.in_float32(a), elements.in_float32(b)
    quotients = elements.divided(left, right, steps, dtype, rule)
    if quotients is not None:
        return quotients.view(np.float32)
    root = reciprocal_sqrt(np.abs(b), steps, dtype)
    if rule is not Reciprocal.BY_FORMULA:
        is_zero = (operand(b, dtype) if rule is Reciprocal.TRUE_SUBNORMALS else b) == 0
        special = np.where(np.isinf(b), np.float32(0), np.where(np.isnan(b), np.float32(np.nan), root))
        root = np.where(is_zero, np.float32(np.inf), special)
    inverse = product_in(root, root, dtype)
    quotient = product_in(operand(a, dtype), np.copysign(inverse, b), dtype)
    if rule is not Reciprocal.TRUE_ZEROS:
        return quotient
    return np.where(
        (b == 0) & (np.abs(a) < SMALLEST_NORMAL) & (a != 0), np.copysign(np.float32(np.inf), a * b), quotient
    )
