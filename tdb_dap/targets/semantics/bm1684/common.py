"""Helpers of BM1684's semantics: forms that nobody has seen are refused, sums of products, integer results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.dot import inexact, interleaved, interleaved_pairs
from tdb_dap.targets.arithmetic.products import of_matrices
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import HALF_UP, requantised
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.semantics.registry import Operation, Semantic, semantics

_SHIFTS = tuple(f"{operand}_{axis}_shift" for operand in ("res0", "opd0", "opd1") for axis in "hw")
_RARE = ("winograd", *_SHIFTS)
_ONCE = ("opd0_neq1", "opd1_neq1")


def refuse(condition: Any, what: str) -> None:
    """NotSimulated if the condition holds."""
    if condition:
        raise NotSimulated(f"{what}: what BM1684 computes is not known")


def refuse_rare(f: Fields, names: Iterable[str] = (*_RARE, *_ONCE)) -> None:
    """NotSimulated for options that no compiler sets."""
    for name in names:
        refuse(f.number(name), f"a command with {name} = {f.number(name)}")


def tiu(family: str, *subs: int) -> Callable[[Semantic], Semantic]:
    """As ``semantics``, for a function that takes none of the options which no compiler sets."""

    def declare(function: Semantic) -> Semantic:
        @wraps(function)
        def checked(x: Operation) -> Array | tuple[Array, ...]:
            refuse_rare(x.fields, _RARE if family == "bm1684.arith" else (*_RARE, *_ONCE))
            return function(x)

        return semantics(family, *subs)(checked)

    return declare


def refuse_repeated_batch(f: Fields, prefix: str) -> None:
    """Numbers of 8 or 16 bits whose batches are one and the same."""
    given = f.number(f"{prefix}_str") == 3 and f.number(f"{prefix}_n_str") == 0
    repeated = given and f.res0_n > 1 and not f.number(f"{prefix}_neq1")
    refuse(repeated and not f.number(f"{prefix}_const"), "packed numbers with a batch stride of zero")


def sum_of_products(factors: Sequence[tuple[Array, Array]], shape: tuple[int, ...]) -> Array:
    """float32 sum in two accumulators by turns; the first product starts the one, zero the other.

    A single product is not added to anything: it may be -0. Factors are taken as flushed.
    """
    if len(factors) == 1:
        return np.broadcast_to(float32.multiply(*factors[0]), shape)
    return interleaved_pairs(None, None, lambda: factors, shape, float32.stays_normal(*factors))


def sum_of_matrix_products(left: Array, right: Array, fast: bool) -> Array:
    """As ``sum_of_products`` for left (m, k) x right (k, n)."""
    if left.shape[1] == 1:
        return float32.multiply(left, right)
    if fast:
        return inexact((), of_matrices(left, right))
    return interleaved(None, None, of_matrices(left, right))


def shifted(x: Operation, total: Array) -> Array:
    """Integer sums after ``shift_steps``."""
    return requantised(total, shift_steps(x), x.dtype)


def shift_steps(x: Operation) -> Steps:
    """The right shift, half up, and the limits of the result's format."""
    return Steps(HALF_UP, amount=-x.fields.right_shift, limits=(x.dtype.minimum, x.dtype.maximum))
