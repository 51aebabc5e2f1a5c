"""Products of matrices in plans: the parts of factors and results, and where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.targets.kernel.integers import UNLIMITED, Steps
from tdb_dap.targets.kernel.stored import AXES, CONSTANT, FLOATS, WHOLE
from tdb_dap.targets.plans.tensors import Tensor
from tdb_dap.targets.semantics.registry import MatrixProduct, Unplanned

_LEFT, _RIGHT, _FIRST_START = 0, 1, 2
_FEW = 16
"""Fewer columns than this are worth exchanging with the rows."""
_MOST_PRODUCTS = (1 << 31) // (1 << 16)
"""Products of two bytes whose sum 32 bits hold."""
_LARGEST = 1 << 22
"""Products: more of them are better split among threads, which a plan of them is not."""
_FORMATS = {"f32": FLOATS["f32"], **WHOLE}

Steps2 = tuple[int, int]


def product_of(product: MatrixProduct, tensors: Mapping[str, Tensor], result: Tensor) -> tuple[Any, ...]:
    """The arguments of the kernel for a product."""
    left, right = (_matrix_shape(tensors[role]) for role in (product.left, product.right))
    rows, count = left[::-1] if product.is_left_turned else left
    inner, columns = right[::-1] if product.is_right_turned else right
    if inner != count or result.view.shape != (rows, columns) or rows * count * columns > _LARGEST:
        raise Unplanned("factors that do not fit together, or are many")
    is_float = product.steps is None
    if not is_float and count >= _MOST_PRODUCTS:
        raise Unplanned("sums beyond 32 bits")
    numbers = {role: number for number, role in enumerate(tensors)}
    turned = columns < _FEW and rows > columns
    size = (columns, count, rows) if turned else (rows, count, columns)
    # Factors and starts of the exchanged product are the transposed ones, in the other order.
    factors = [(product.left, _LEFT, product.is_left_turned), (product.right, _RIGHT, product.is_right_turned)]
    if turned:
        factors = [(role, 1 - which, not is_turned) for role, which, is_turned in factors]
    gathered: list[Any] = []
    for role, which, is_turned in factors:
        width = size[1] if which == _LEFT else size[2]
        steps = (1, width) if is_turned else (width, 1)
        gathered += _parts(tensors[role], numbers[role], which, steps)
    shapes: list[Steps2] = []
    for number, start in enumerate(product.starts):
        if isinstance(start, str):
            shape = _matrix_shape(tensors[start])
            steps = (1, shape[0]) if turned else (shape[1], 1)
            gathered += _parts(tensors[start], numbers[start], _FIRST_START + number, steps)
        else:
            shape = start.shape
            gathered.append((CONSTANT, _FIRST_START + number, _constant(start)))
        if any(extent not in (1, own) for extent, own in zip(shape, (rows, columns), strict=True)):
            raise Unplanned("a start of another shape")
        shapes.append(shape[::-1] if turned else shape)
    shapes += [(1, 1)] * (2 - len(shapes))
    to = tuple([part for _, _, part in _parts(result, 0, 0, (1, rows) if turned else (columns, 1))])
    how = _steps(product.steps, result.view.dtype)
    return is_float, turned, product.zero, size, tuple(shapes), len(product.starts), how, tuple(gathered), to


def _steps(steps: Steps | None, dtype: DType) -> tuple[int, ...]:
    """Multiplier, amount, zero point, mode, held, rectified, limits and bytes."""
    if steps is None:
        return 1, 0, 0, 0, 0, 0, *UNLIMITED, dtype.itemsize
    if any(not isinstance(part, int) for part in (steps.multiplier, steps.amount, steps.zero)):
        raise Unplanned("numbers of each row")
    how = (steps.mode, int(steps.held), int(steps.rectified), *steps.limits, dtype.itemsize)
    return int(steps.multiplier), int(steps.amount), int(steps.zero), *how


def _matrix_shape(tensor: Tensor) -> Steps2:
    if len(tensor.view.shape) != 2:
        raise Unplanned("a matrix of more axes")
    rows, columns = tensor.view.shape
    return rows, columns


def _parts(tensor: Tensor, source: int, which: int, steps: Steps2) -> Iterator[Any]:
    """The pieces of a matrix: their words, and where these are among numbers.

    ``steps``: numbers between rows, and between columns, there.
    """
    if tensor.view.dtype.name not in _FORMATS:
        raise Unplanned(f"matrices of {tensor.view.dtype}")
    for index, piece in tensor.pieces:
        rows, columns = index
        first = rows.start * steps[0] + columns.start * steps[1]
        blocks = (piece.shape[2] * steps[1], steps[1]) if piece.ndim == 3 else (steps[1],)
        if piece.ndim > 3 or piece.size != (rows.stop - rows.start) * (columns.stop - columns.start):
            raise Unplanned("a layout of more axes")
        yield source, which, _part(piece, _FORMATS[tensor.view.dtype.name], first, (steps[0], *blocks))


def _part(piece: Array, form: int, first: int, steps: tuple[int, ...]) -> tuple[Any, ...]:
    missing = AXES - piece.ndim
    return (form, piece), (1,) * missing + piece.shape, first, (0,) * missing + steps


def _constant(start: Array) -> tuple[Any, ...]:
    form, dtype = (_FORMATS["f32"], np.float32) if start.dtype == np.float32 else (_FORMATS["si32"], np.int32)
    if start.size != 1:
        raise Unplanned("a start of several numbers")
    words = start.astype(dtype).reshape(1, 1, 1, 1).view(np.uint32)
    return _part(words, form, 0, (0, 0, 0, 0))
