"""Matrix multiplication. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI32, UI32, Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.dot import exact_product, group_size, grouped, inexact, interleaved, summed
from tdb_dap.targets.arithmetic.elements import encoded
from tdb_dap.targets.arithmetic.products import of_matrices
from tdb_dap.targets.arithmetic.requantisation import UNLIMITED, Steps
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_UP, requantised, saturate, signed
from tdb_dap.targets.arithmetic.stored import Unplanned, Value
from tdb_dap.targets.arithmetic.sums import Group
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families import matrix as op
from tdb_dap.targets.families.convolution import TABLE_REGISTER, ZERO_REGISTER
from tdb_dap.targets.semantics.finish import (
    limited,
    rectified,
    requantisation,
    requantized,
    scaled,
    scaled_integers,
)
from tdb_dap.targets.semantics.registry import MatrixProduct, Operation, multiplies, semantics

_AT_ONCE = 1 << 19
"""Elements of a left matrix that are widened at once."""


def _spread(value: Value, shape: tuple[int, int]) -> Array:
    return np.broadcast_to(value.numbers.reshape(1, 1), shape) if value.is_constant else value.numbers


def _product_of_columns(x: Operation) -> MatrixProduct:
    """The product of ``multiply``, of float32 or bytes."""
    old = ("old",) if "old" in x else ()
    if not x["left"].dtype.is_float:
        if x.fields.is_fused or (old and x["old"].dtype.itemsize < 4):
            raise Unplanned("a bias of whole numbers, or old results of fewer bytes")
        held = _short_dtype(x)
        limits = UNLIMITED if held is None else (held.minimum, held.maximum)
        return _product(x, "left", "right", bool(x.fields.left_tran), False, old, Steps(DOWN, limits=limits))
    if {x["left"].dtype, x["right"].dtype, x["bias"].dtype, x.dtype} != {F32} or (x.fields.is_fused and x.fields.relu):
        raise Unplanned("other numbers than float32")
    bias = x["bias"]
    start = x.rules.first_bias("mm", bias.numbers.reshape(1, 1), True) if bias.is_constant else "bias"
    return _product(x, "left", "right", bool(x.fields.left_tran), False, (start, *old), None)


def _product(
    x: Operation,
    left: str,
    right: str,
    is_left_turned: bool,
    is_right_turned: bool,
    starts: tuple[str | Array, ...],
    steps: Steps | None,
) -> MatrixProduct:
    if x.rules.fast or x[left].is_constant or x[right].is_constant:
        raise Unplanned("a factor that is a number, or sums in another order")
    return MatrixProduct(left, right, is_left_turned, is_right_turned, starts, x.rules.first_zero, steps)


@multiplies(_product_of_columns)
@semantics("mm", 1)
def multiply(x: Operation) -> Array:
    """result = left x right + bias + old.

    f32: two interleaved accumulators over [bias, old, products by k]. 8 bit: exact, saturated into 8 and 16 bits.
    """
    f = x.fields
    left = _spread(x["left"], (op.left_rows(f), op.left_columns(f)))
    left = left.T if f.left_tran else left
    right = x["right"].numbers
    old = x.get("old")
    if x["left"].dtype is F32:
        bias = x.rules.first_bias("mm", x["bias"].numbers.reshape(1, -1), x["bias"].is_constant)
        total = _float32_product(left, right, bias, None if old is None else old.numbers, x)
        return encoded(rectified(x, total), x.dtype)
    if x["left"].dtype.is_float:
        raise NotSimulated(f"mm.normal on {x['left'].dtype} is not defined")
    total = exact_product(left, right)
    if f.is_fused:
        total = total + x["bias"].numbers.astype(np.int64).reshape(1, -1)
    if old is not None:
        total = total + old.numbers.astype(np.int64)
    if f.is_fused:
        if f.relu:  # before the sum is held in 32 bits, and again after
            total = np.maximum(total, 0)
        signed_factors = bool(f.opd0_sign or f.opd1_sign)
        if f.rq and f.relu and signed_factors and not f.opd2_sign and (total > SI32.maximum).any():
            raise NotSimulated("mm.normal: rectified sums beyond 31 bits with an unsigned bias are not known")
        held = SI32 if signed_factors or f.opd2_sign else UI32
        if f.rq:
            total = held.decode(held.encode(total)).astype(np.int64)
        elif x.dtype is UI32 and x.rules.unsigned_words:
            _refuse_large_words(x, total, signed_factors)
        return requantized(x, total, wraps=True, holds_32_bits=False)
    limited_to = _short_dtype(x)
    return x.dtype.encode(total if limited_to is None else saturate(total, limited_to))


def _refuse_large_words(x: Operation, total: Array, signed_factors: bool) -> None:
    """NotSimulated for numbers of 32 bits without a sign, which chips take for signed ones, or not."""
    old, bias = x.get("old"), x["bias"]
    added = [] if old is None else [old.bits]
    added += [] if x.fields.opd2_sign else [bias.bits]
    is_large = bool((total > SI32.maximum).any()) and (signed_factors or old is not None)
    if is_large or any((bits.astype(np.int64) > SI32.maximum).any() for bits in added):
        raise NotSimulated("mm.normal: sums beyond 31 bits as ui32 are not known")


def _short_dtype(x: Operation) -> DType | None:
    """The format that sums of bytes are limited to; None: 32 bits, which they wrap in."""
    f, codes = x.fields, {1: 0, 2: 3}
    return f.tiu_dtype(codes[x.dtype.itemsize], f.opd0_sign or f.opd1_sign) if x.dtype.itemsize < 4 else None


def _float32_product(left: Array, right: Array, bias: Array, old: Array | None, x: Operation) -> Array:
    left, right, bias = float32.flush(left), float32.flush(right), float32.flush(bias)
    before = None if old is None else float32.flush(old)
    products = of_matrices(left, right)
    if x.rules.fast:
        return inexact((bias, before), products)
    return interleaved(bias, before, products, zero=x.rules.first_zero)


def _product_on_lanes(x: Operation) -> MatrixProduct:
    """The product of ``multiply_on_lanes``, of floats or bytes."""
    f, left, right = x.fields, x["left"], x["right"]
    old = ("old",) if "old" in x else ()
    if old and x["old"].dtype.itemsize < 4:
        raise Unplanned("old results of fewer bytes")
    order = ("right", "left") if f.sub == op.TT else ("left", "right")
    turned = False, f.sub == op.NT
    rectifies = bool(left.dtype.is_float and f.is_fused and f.relu)
    if left.dtype is F32:
        if {right.dtype, x.dtype} != {F32}:
            raise Unplanned("other numbers than float32")
        plain = _product(x, *order, *turned, (_first_start(x), *old), None)
        return replace(plain, rectifies=rectifies)
    if left.dtype.name in (F16.name, BF16.name):
        if right.dtype is not left.dtype or (x.rules.symmetric_sums and f.sym_range):
            raise Unplanned("factors of two formats, or limits")
        plain = _product(x, *order, *turned, (_first_start(x), *old), None)
        return replace(plain, group=_group(x), rectifies=rectifies, is_zero_positive=True)
    if left.dtype.is_float or left.dtype.itemsize > 1 or right.dtype.itemsize > 1 or left.dtype.per_byte > 1:
        raise Unplanned("other numbers than bytes")
    bias = _first_start(x)
    has_bias = isinstance(bias, str) or bool(bias.any())
    if has_bias and old:
        raise Unplanned("two starts of whole numbers")
    if _zero_points(x).any():
        raise Unplanned("zero points")
    starts = ("bias",) if isinstance(bias, str) else (bias,) if has_bias else old
    return _product(x, *order, *turned, starts, _scaling(x) if _is_scaled(x) else _steps(x))


def _is_scaled(x: Operation) -> bool:
    """Whether sums of integers are multiplied by a float32."""
    return bool(x.fields.is_fused and x.fields.rq and x.rules.matrix_scale)


def _scaling(x: Operation) -> Steps:
    """The steps of ``scaled_integers`` by one number for all."""
    if "column_scale" in x or x.fields.opd2_n_str > HALF_UP:
        raise Unplanned("scales of columns, or a round mode that is not known")
    (word,) = F32.encode(float32.flush(_column_scale(x))).reshape(-1).tolist()
    limits = x.dtype.minimum, x.dtype.maximum
    return Steps(x.fields.opd2_n_str, word, rectified=bool(x.fields.relu), limits=limits, is_scaled=True)


def _first_start(x: Operation) -> str | Array:
    """The bias of the fused form, as a role, or as one number: float32, or a whole one as int64."""
    bias = x.get("bias")
    if bias is not None and not bias.is_constant:
        return "bias"
    return float32.flush(_bias(x).astype(np.float32)) if x["left"].dtype.is_float else _bias(x).astype(np.int64)


@multiplies(_product_on_lanes)
@semantics("mm2", op.NN, op.NT, op.TT)
def multiply_on_lanes(x: Operation) -> Array:
    """nn: left x right; nt: left x right^T; tt: right x left.

    f32: two interleaved accumulators; f16, bf16, 8-bit floats: exact sums per group of channels, added in float32 to
    the bias; 8-bit floats are scaled in the end, see ``scaled``. 8-bit integers: the zero
    point is subtracted from the right operand; results of 32 bits wrap, others saturate; with ``matrix_scale`` they are
    scaled, see ``scaled_integers``.
    """
    f = x.fields
    left, right = x["left"], x["right"]
    b = _spread(right, _shape(f, "right"))
    if f.sub == op.NT:
        b = b.T
    old = x.get("old")
    if old is not None and old.dtype.itemsize < 4:
        raise NotSimulated(f"mm2 that adds to old results of {old.dtype} is not known")
    if left.dtype.is_float:
        total = _sums(x, left, float32.operand(b, right.dtype), None if old is None else old.numbers)
        if left.dtype.itemsize == 1:
            return scaled(x, total, _column_scale(x))
        stored = encoded(rectified(x, total), x.dtype)
        is_limited = x.dtype.name in x.rules.symmetric_products
        return limited(x, stored, "mm2" in x.rules.keeps_sum_nan) if is_limited else stored
    a, zero = _spread(left, _shape(f, "left")), _zero_points(x)
    centred = b.astype(np.int64) - zero if zero.any() else b
    a, b = (centred, a) if f.sub == op.TT else (a, centred)
    start = _bias(x).astype(np.int64)
    if old is not None:
        start = start + old.numbers.astype(np.int64)
    if _is_scaled(x):
        return scaled_integers(x, exact_product(a, b) + start, _column_scale(x))
    if f.is_fused and f.sym_range and x.dtype.per_byte > 1:
        raise NotSimulated(f"mm2 with sym_range and results of {x.dtype} is not known")
    steps = _steps(x)
    words = summed(of_matrices(a, b), start, steps, x.dtype)
    return requantised(exact_product(a, b) + start, steps, x.dtype) if words is None else words


def _steps(x: Operation) -> Steps:
    """Steps after a sum of integers."""
    if x.fields.is_fused:
        return requantisation(x, wraps=False)
    return Steps(DOWN, limits=UNLIMITED if x.dtype.itemsize == 4 else (x.dtype.minimum, x.dtype.maximum))


def _sums(x: Operation, left: Value, b: Array, before: Array | None) -> Array:
    """Float sums of products; of a large left matrix some rows at once, as it gets several times as wide."""
    shape = _shape(x.fields, "left")
    bias = _bias(x).astype(np.float32)
    product = _float32_product if left.dtype is F32 else _grouped_product
    if left.is_constant or left.bits.size <= _AT_ONCE or x.fields.sub == op.TT:
        a = float32.operand(_spread(left, shape), left.dtype)
        return product(*((b, a) if x.fields.sub == op.TT else (a, b)), bias, before, x)
    parts: list[Array] = []
    rows = max(1, _AT_ONCE // shape[1])
    for start in range(0, shape[0], rows):
        piece = slice(start, start + rows)
        a = float32.operand(left.dtype.widen(left.bits[piece]), left.dtype)
        parts.append(product(a, b, bias, None if before is None else before[piece], x))
    return np.concatenate(parts)


def _column_scale(x: Operation) -> Array:
    """float32 per result column as the lane of each row has it (tt: per row), or one for all."""
    table = x.get("column_scale")
    if table is None:
        return np.array([[x.fields.register(TABLE_REGISTER)]], np.uint32).view(np.float32)
    if x.fields.sub == op.TT:
        return table.numbers.reshape(-1, 1)
    lanes = np.arange(x.shape[0]) % table.numbers.shape[1]
    return table.numbers[0, lanes, 0, :]


def _shape(f: Fields, side: str) -> tuple[int, int]:
    return op.left_shape(f) if side == "left" else op.right_shape(f)


def _bias(x: Operation) -> Array:
    """The bias of the fused form, per result column (tt: row); zero where there is none."""
    bias = x.get("bias")
    return np.zeros((1, 1), np.float32) if bias is None else _per_column(x, bias)


def _zero_points(x: Operation) -> Array:
    """One number per result column (tt: row), or one for all."""
    if x.fields.is_fused:
        if not x.rules.matrix_zero:
            return np.zeros((1, 1), np.int64)
        table = x.get("zero_points")
        if table is None:
            return np.array([[signed(x.fields.register(ZERO_REGISTER), 16)]], np.int64)
        return _per_column(x, table).astype(np.int64)
    return _per_column(x, x["zero_point"]).astype(np.int64)


def _per_column(x: Operation, zero: Value) -> Array:
    """A row of numbers, the same on every lane, as (1, columns); of the tt form a column (rows, 1)."""
    if zero.is_constant:
        return zero.numbers.reshape(1, 1)
    if x.fields.sub == op.TT:
        return zero.numbers.reshape(-1, 1)
    # Lanes that hold no row of the result may hold anything.
    used = zero.bits[0, : max(1, min(x.shape[0], zero.bits.shape[1])), 0, :]
    if (used != used[:1]).any():
        raise NotSimulated("mm2 whose bias or zero points differ between lanes is not known")
    return zero.numbers[0, :1, 0, :]


def _grouped_product(left: Array, right: Array, bias: Array, old: Array | None, x: Operation) -> Array:
    if x.rules.fast:
        return inexact((bias, old), of_matrices(left, right))
    total = np.zeros((left.shape[0], right.shape[1]), np.float32) + float32.flush(bias)
    if old is not None:
        total = float32.add(total, float32.flush(old))
    group = _group(x)
    return grouped(total, of_matrices(left, right), group.size, group.nan_wins, group.drops_bits)


def _group(x: Operation) -> Group:
    dtype = x["left"].dtype
    return Group(group_size(x.rules.channel_group, dtype), x.rules.nan_wins, x.rules.drops_bits and dtype is F16)
