"""Products of matrices in plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32
from tdb_dap.targets.arithmetic.stored import AXES, FLOATS, Unplanned
from tdb_dap.targets.arithmetic.sums import BYTES, Image, Pair, Size, Step, Sums
from tdb_dap.targets.kernel.constants import LARGEST_GROUP, Accumulation, Part
from tdb_dap.targets.plans.packing import MOST_PRODUCTS, constant, format_of
from tdb_dap.targets.plans.tensors import Tensor
from tdb_dap.targets.semantics.registry import MatrixProduct

_FEW = 16
"""Fewer columns than this are worth exchanging with the rows."""


def product_of(product: MatrixProduct, tensors: Mapping[str, Tensor], result: Tensor) -> Sums:
    """The sums of a product; Unplanned for what the kernel does not take."""
    left, right = (_pair(tensors[role].view.shape) for role in (product.left, product.right))
    rows, count = left[::-1] if product.is_left_turned else left
    inner, columns = right[::-1] if product.is_right_turned else right
    dtypes = [tensors[role].view.dtype for role in (product.left, product.right)]
    if inner != count or result.view.shape != (rows, columns):
        raise Unplanned("factors that do not fit together")
    if product.group is not None:
        if product.group.size > LARGEST_GROUP or result.view.dtype.name not in FLOATS:
            raise Unplanned("large groups, or results of another format")
    elif product.steps is None and {*dtypes, result.view.dtype} != {F32}:
        raise Unplanned("other numbers than float32")
    if product.steps is not None and (count >= MOST_PRODUCTS or any(dtype.name not in BYTES for dtype in dtypes)):
        raise Unplanned("sums beyond 32 bits")
    numbers = {role: number for number, role in enumerate(tensors)}
    turned = columns < _FEW and rows > columns
    size = Size(columns, count, rows) if turned else Size(rows, count, columns)
    # Factors and starts of the exchanged product are the transposed ones, in the other order.
    factors = [
        (product.left, Part.LEFT_FACTORS, product.is_left_turned),
        (product.right, Part.RIGHT_FACTORS, product.is_right_turned),
    ]
    if turned:
        factors = [(role, Part(Part.RIGHT_FACTORS - part), not is_turned) for role, part, is_turned in factors[::-1]]
    # Of few rows each factor is used a few times only: all of a column are read and written one after the other.
    of_image = (1, size.products) if turned and product.group is not None else (size.columns, 1)
    pack: list[Step] = []
    for role, part, is_turned in factors:
        steps = (size.products, 1) if part == Part.LEFT_FACTORS else of_image
        steps = steps[::-1] if is_turned else steps
        pack += _parts(tensors[role], numbers[role], part, steps)
    starts: list[Pair] = []
    for number, start in enumerate(product.starts):
        part = Part(Part.FIRST_START + number)
        if isinstance(start, str) and len(tensors[start].view.shape) == AXES:
            shape, lanes = _on_lanes(tensors[start], numbers[start], part, (rows, columns))
            pack += lanes
            starts.append(shape[::-1] if turned else shape)
            continue
        shape = _pair(tensors[start].view.shape) if isinstance(start, str) else _pair(start.shape)
        if any(extent not in (1, own) for extent, own in zip(shape, (rows, columns), strict=True)):
            raise Unplanned("a start of another shape")
        if isinstance(start, str):
            steps = (1, shape[0]) if turned else (shape[1], 1)
            pack += _parts(tensors[start], numbers[start], part, steps)
        else:
            pack.append(constant(start, part))
        starts.append(shape[::-1] if turned else shape)
    places = np.arange(size.columns, dtype=np.int64) * of_image[1]
    taps = np.arange(size.products, dtype=np.int64) * of_image[0]
    return Sums(
        how=_accumulation(product),
        size=size,
        left=tensors[factors[0][0]].view.dtype,
        image=Image(tensors[factors[1][0]].view.dtype, taps, places, size.products * size.columns, None),
        result=result.view.dtype,
        pack=pack,
        store=list(_parts(result, 0, Part.LEFT_FACTORS, (1, rows) if turned else (columns, 1))),
        starts=starts,
        zero=product.zero,
        is_image_first=turned,
        steps=product.steps,
        group=product.group,
        rectifies=product.rectifies,
        is_zero_positive=product.is_zero_positive,
        adds_last=product.adds_last,
    )


def _on_lanes(tensor: Tensor, source: int, part: Part, size: Pair) -> tuple[Pair, list[Step]]:
    """The shape of a start that is stored on lanes, and its packing steps: a row that every lane has, or a column."""
    (_, lanes, _, width), array, (rows, columns) = tensor.view.shape, tensor.array, size
    form = format_of(tensor.view.dtype)
    if array is None:
        raise Unplanned("a start in several pieces")
    if (lanes, width) == (rows, 1) and columns > 1:
        return (rows, 1), [Step(array, form, 0, (0, 1, 0, 0), part, source)]
    if width != columns:
        raise Unplanned("a start of another shape")
    used = array[:, : max(1, min(rows, lanes))]
    alike = [Step(used, form, 0, (0, 0, 0, 0), Part.ALIKE, source)] if used.shape[1] > 1 else []
    return (1, columns), [Step(array[:, :1], form, 0, (0, 0, 0, 1), part, source), *alike]


def _accumulation(product: MatrixProduct) -> Accumulation:
    of_floats = Accumulation.GEMM_F32 if product.group is None else Accumulation.GEMM_F16
    return of_floats if product.steps is None else Accumulation.GEMM_INT


def _pair(shape: tuple[int, ...]) -> Pair:
    if len(shape) != 2:
        raise Unplanned("a matrix of more axes")
    rows, columns = shape
    return rows, columns


def _parts(tensor: Tensor, source: int, part: Part, steps: Pair) -> Iterator[Step]:
    """The pieces of a matrix: their words, and where these are among numbers.

    ``steps``: numbers between rows, and between columns, there.
    """
    form = format_of(tensor.view.dtype)
    for index, piece in tensor.pieces:
        rows, columns = index
        first = rows.start * steps[0] + columns.start * steps[1]
        blocks = (piece.shape[2] * steps[1], steps[1]) if piece.ndim == 3 else (steps[1],)
        if piece.ndim > 3 or piece.size != (rows.stop - rows.start) * (columns.stop - columns.start):
            raise Unplanned("a layout of more axes")
        yield Step(piece, form, first, (steps[0], *blocks), part, source)
