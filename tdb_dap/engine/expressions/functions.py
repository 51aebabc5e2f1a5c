"""The functions that expressions may call, and the bounds on what operators may produce."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadExpression

KEYWORDS = frozenset({"axis", "keepdims"})

_MOST_ELEMENTS = 1 << 27
_MOST_BITS = 4096

MOST_WORK = 1 << 29
"""Elements that one expression may touch in all its operations; a few seconds."""

_SORTING = 32
"""A comparison sort costs so much more than one pass over the elements."""


class Budget:
    """Computing that an expression may still use."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, work: float) -> None:
        """BadExpression when there is not enough left."""
        self._left -= int(work)
        if self._left < 0:
            raise BadExpression("the expression would take too long; choose a part of the tensor first, as in in[0][0]")


def work_of(op: ast.operator | None, *operands: Any) -> float:
    """Elements that an operation touches."""
    if isinstance(op, ast.MatMult):
        return float(np.prod([*np.shape(operands[0]), *np.shape(operands[1])[-1:]], dtype=np.float64)) / 8
    try:
        return float(np.prod(np.broadcast_shapes(*(np.shape(operand) for operand in operands)), dtype=np.float64))
    except ValueError:  # not shapes that go together: the sum is near enough
        return float(sum(np.size(operand) for operand in operands))


_MOST_PRODUCTS = 1 << 28
"""Multiplications of one call of attention."""


class Function(Struct, frozen=True):
    """``takes_values``: gets Values rather than arrays; ``elementwise``: its arguments broadcast against each other;
    ``of_shape``: uses no numbers; ``work``: how often it touches each element."""

    call: Callable[..., Any]
    elementwise: bool = False
    takes_values: bool = False
    of_shape: bool = False
    work: int = 1


def require_bounded(op: ast.operator | None, *operands: Any) -> None:
    """BadExpression if an operation would produce more than memory and patience allow."""
    if all(isinstance(operand, int) for operand in operands) and len(operands) == 2:
        left, right = operands
        if (
            (isinstance(op, ast.Pow) and right > 0 and left.bit_length() * right > _MOST_BITS)
            or (isinstance(op, ast.LShift) and left.bit_length() + right > _MOST_BITS)
            or (isinstance(op, ast.Mult) and left.bit_length() + right.bit_length() > _MOST_BITS)
        ):
            raise BadExpression("the number would be too large")
        return
    if isinstance(op, ast.MatMult):
        rows, columns = np.shape(operands[0])[:-1], np.shape(operands[1])[1:]
        size = int(np.prod([*rows, *columns], dtype=np.float64))
    else:
        size = int(np.prod(np.broadcast_shapes(*(np.shape(operand) for operand in operands)), dtype=np.float64))
    if size > _MOST_ELEMENTS:
        raise BadExpression(f"the result would have {size:,} elements; the limit is {_MOST_ELEMENTS:,}")


def cosine(a: Array, b: Array) -> float:
    """Cosine of the angle between two tensors of the same size, in float64."""
    x, y = np.ravel(a).astype(np.float64), np.ravel(b).astype(np.float64)
    length = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(np.dot(x, y)) / length if length else float(np.array_equal(x, y))


def _reshape(array: Array, *shape: Any) -> Array:
    return np.reshape(array, shape[0] if len(shape) == 1 else shape)


def _real(value: Any) -> Any:
    """The numbers that a quantised value stands for: (stored - zero point) * scale."""
    if not isinstance(value, Value):
        return value
    return Value(
        f"real({value.title})", lambda: value.real, pending=value.pending, is_real=True, overwriter=value.overwriter
    )


def _where(condition: Array, *choices: Any) -> Any:
    if len(choices) not in (0, 2):
        raise BadExpression("where takes a condition, or a condition and two choices")
    return np.where(condition, *choices) if choices else np.argwhere(condition)


_REDUCING = """min max sum mean std var median argmin argmax any all prod count_nonzero sort argsort ravel squeeze
transpose unique flip diff cumsum nonzero argwhere""".split()  # noqa: SIM905
_SORTS = frozenset({"sort", "argsort", "unique", "median"})
_ELEMENTWISE = """abs sqrt exp log log2 log10 sin cos tan tanh floor ceil rint sign isnan isinf isfinite maximum minimum
clip logical_and logical_or logical_not square isclose allclose""".split()  # noqa: SIM905
_CASTS = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "int": np.int64, "bool": np.bool_}


def _cast(dtype: Any) -> Callable[[Any], Any]:
    return lambda array: np.asarray(array).astype(dtype)


def _attention(q: Any, k: Any, mask: Any = None, scale: Any = None) -> Any:
    """Weights of attention, (heads, queries, keys): softmax(q @ k * scale + mask), by default with 1 / sqrt(numbers).

    ``q``: (..., queries, heads, numbers); ``k``: (..., keys, heads that are shared, numbers).
    """
    if np.ndim(q) < 3 or np.ndim(k) < 3 or np.shape(q)[-1] != np.shape(k)[-1] or np.shape(q)[-2] % np.shape(k)[-2]:
        raise BadExpression("attention takes q of (queries, heads, numbers) and k of (keys, shared heads, numbers)")
    queries, heads, numbers = np.shape(q)[-3:]
    keys, shared, _ = np.shape(k)[-3:]
    if queries * heads * keys * numbers > _MOST_PRODUCTS:
        raise BadExpression("attention: the result is too large")
    left = np.asarray(q, np.float64).reshape(queries, shared, heads // shared, numbers)
    right = np.asarray(k, np.float64).reshape(keys, shared, numbers)
    scores = np.einsum("qsgn,ksn->sgqk", left, right).reshape(heads, queries, keys)
    scores *= 1 / np.sqrt(numbers) if scale is None else float(scale)
    if mask is not None:
        scores = scores + np.asarray(mask, np.float64).reshape(-1, keys)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


FUNCTIONS: dict[str, Function] = {
    **{name: Function(getattr(np, name), work=_SORTING if name in _SORTS else 1) for name in _REDUCING},
    **{name: Function(getattr(np, name), elementwise=True) for name in _ELEMENTWISE},
    **{name: Function(_cast(dtype)) for name, dtype in _CASTS.items()},
    "round": Function(np.round),
    "len": Function(len, of_shape=True),
    **{name: Function(getattr(np, name), of_shape=True) for name in ("shape", "size", "ndim")},
    "array_equal": Function(np.array_equal),
    "cosine": Function(cosine),
    "norm": Function(np.linalg.norm),
    "reshape": Function(_reshape),
    "where": Function(_where, elementwise=True),
    "real": Function(_real, takes_values=True),
    "attention": Function(_attention),
}
"""Name -> function."""
