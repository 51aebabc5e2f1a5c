"""Sums of products in plans, of matrices or of windows: the parts of factors and results, and where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.kernel import LARGEST_GROUP
from tdb_dap.targets.kernel.integers import UNLIMITED, Steps
from tdb_dap.targets.kernel.products import BYTES, WORDS
from tdb_dap.targets.kernel.stored import AXES, CONSTANT, FLOATS, WHOLE
from tdb_dap.targets.plans.tensors import Tensor
from tdb_dap.targets.semantics.numerics.windows import offsets
from tdb_dap.targets.semantics.registry import Convolved, Group, MatrixProduct, Unplanned

_LEFT, _RIGHT, _FIRST_START = 0, 1, 2
_IN_CHAINS, _IN_GROUPS, _EXACTLY = 0, 1, 2
_FEW = 16
"""Fewer columns than this are worth exchanging with the rows."""
_MOST_PRODUCTS = (1 << 31) // (1 << 16)
"""Products of two bytes whose sum 32 bits hold."""
_FORMATS = {**FLOATS, **WHOLE}
_BLOCK = 64
"""Channels whose weights lie together, as many as most chips store together; of whole numbers any order will do."""

Pair = tuple[int, int]


class Size(NamedTuple):
    """Rows and columns of a matrix of sums, and the products of each."""

    rows: int
    count: int
    columns: int


@dataclass(frozen=True)
class Product:
    """The arguments of the kernel for sums of products."""

    size: Size
    arguments: tuple[Any, ...]


class _Right(NamedTuple):
    """Right factors, see ``kernel.products``."""

    taps: Array
    places: Array
    count: int
    """Numbers of the image."""
    fill: float | None
    """What the image holds where nothing is put; None: something is put everywhere."""


def product_of(
    described: MatrixProduct | Convolved, tensors: Mapping[str, Tensor], result: Tensor, fields: Fields
) -> Product:
    """The arguments of the kernel; Unplanned for what it does not take."""
    if isinstance(described, MatrixProduct):
        return _of_matrices(described, tensors, result)
    return _of_windows(described, tensors, result, fields)


def _of_matrices(product: MatrixProduct, tensors: Mapping[str, Tensor], result: Tensor) -> Product:
    left, right = (_matrix_shape(tensors[role]) for role in (product.left, product.right))
    rows, count = left[::-1] if product.is_left_turned else left
    inner, columns = right[::-1] if product.is_right_turned else right
    if inner != count or result.view.shape != (rows, columns):
        raise Unplanned("factors that do not fit together")
    numbers = {role: number for number, role in enumerate(tensors)}
    turned = columns < _FEW and rows > columns
    size = Size(columns, count, rows) if turned else Size(rows, count, columns)
    # Factors and starts of the exchanged product are the transposed ones, in the other order.
    factors = [(product.left, _LEFT, product.is_left_turned), (product.right, _RIGHT, product.is_right_turned)]
    if turned:
        factors = [(role, 1 - which, not is_turned) for role, which, is_turned in factors[::-1]]
    gathered: list[Any] = []
    for role, which, is_turned in factors:
        width = size.count if which == _LEFT else size.columns
        steps = (1, width) if is_turned else (width, 1)
        gathered += _parts(tensors[role], numbers[role], which, steps)
    shapes: list[Pair] = []
    for number, start in enumerate(product.starts):
        shape = _matrix_shape(tensors[start]) if isinstance(start, str) else _pair(start.shape)
        if any(extent not in (1, own) for extent, own in zip(shape, (rows, columns), strict=True)):
            raise Unplanned("a start of another shape")
        if isinstance(start, str):
            steps = (1, shape[0]) if turned else (shape[1], 1)
            gathered += _parts(tensors[start], numbers[start], _FIRST_START + number, steps)
        else:
            gathered.append((CONSTANT, _FIRST_START + number, _constant(start)))
        shapes.append(shape[::-1] if turned else shape)
    to = tuple([part for _, _, part in _parts(result, 0, 0, (1, rows) if turned else (columns, 1))])
    places = np.arange(size.columns, dtype=np.int64)
    taps = np.arange(size.count, dtype=np.int64) * size.columns
    of = _Right(taps, places, size.count * size.columns, None)
    dtypes = tensors[factors[0][0]].view.dtype, tensors[factors[1][0]].view.dtype, result.view.dtype
    sums = product.zero, product.steps, None
    return _product(size, of, dtypes, sums, turned, (shapes, gathered, to))


def _of_windows(product: Convolved, tensors: Mapping[str, Tensor], result: Tensor, fields: Fields) -> Product:
    image, weight = tensors[product.image], tensors[product.weight]
    batches, rows, height, width = result.view.shape
    n, channels, h, w = image.view.shape
    taps_of_kernel = fields.opd1_h * fields.opd1_w
    if n != batches or weight.view.shape != (rows, channels, fields.opd1_h, fields.opd1_w):
        raise Unplanned("weights of another shape")
    steps = fields.opd0_y_ins0 + 1, fields.opd0_x_ins0 + 1
    high = (h - 1) * steps[0] + 1 + fields.opd0_up_pad + fields.opd0_dn_pad
    wide = (w - 1) * steps[1] + 1 + fields.opd0_lf_pad + fields.opd0_rt_pad
    plane = high * wide
    in_channel, in_plane = offsets(np.broadcast_to(np.int8(0), (n, channels, high, wide)), fields)
    places = (np.arange(n, dtype=np.int64) * channels * plane)[:, None] + in_plane
    if in_plane.size != height * width:
        raise Unplanned("results of another shape")
    group = product.group
    if group is not None and group.size > channels:
        group = replace(group, size=channels)
    runs = _runs(channels, product.steps is None and group is None, group)
    count = sum(run.width for run in runs) * taps_of_kernel
    size = Size(rows, count, places.size)
    numbers = {role: number for number, role in enumerate(tensors)}
    gathered = list(_weights(product, weight, numbers[product.weight], runs, count))
    corner = fields.opd0_up_pad * wide + fields.opd0_lf_pad
    image_steps = (channels * plane, plane, steps[0] * wide, steps[1])
    gathered += _four_axes(image, numbers[product.image], _RIGHT, image_steps, corner)
    shapes: list[Pair] = []
    by_rows = (height * width, size.columns, width, 1)
    for number, start in enumerate(product.starts):
        if not isinstance(start, str):
            shapes.append((1, 1))
            gathered.append((CONSTANT, _FIRST_START + number, _constant(start)))
        elif tensors[start].view.shape == (1, rows, 1, 1):
            shapes.append((rows, 1))
            gathered += _four_axes(tensors[start], numbers[start], _FIRST_START + number, (0, 1, 0, 0))
        elif tensors[start].view.shape == result.view.shape:
            shapes.append((rows, size.columns))
            gathered += _four_axes(tensors[start], numbers[start], _FIRST_START + number, by_rows)
        else:
            raise Unplanned("a start of another shape")
    to = tuple([part for _, _, part in _four_axes(result, 0, 0, by_rows)])
    is_covered = (high, wide) == (h, w)
    of = _Right(
        _taps(runs, in_channel.reshape(-1), plane),
        places.reshape(-1),
        n * channels * plane,
        None if is_covered else _number(product.fill, image.view.dtype),
    )
    dtypes = weight.view.dtype, image.view.dtype, result.view.dtype
    sums = product.zero, product.steps, group
    return _product(size, of, dtypes, sums, product.is_image_first, (shapes, gathered, to))


def _product(
    size: Size,
    right: _Right,
    dtypes: tuple[DType, DType, DType],
    sums: tuple[float, Steps | None, Group | None],
    is_right_first: bool,
    parts: tuple[list[Pair], list[Any], tuple[Any, ...]],
) -> Product:
    left, image, result = dtypes
    zero, steps, group = sums
    shapes, gathered, to = parts
    if steps is not None:
        if left.name not in BYTES or image.name not in BYTES or size.count >= _MOST_PRODUCTS:
            raise Unplanned("sums beyond 32 bits")
    elif left.name != image.name or result.name not in FLOATS or (left.name == "f32") != (group is None):
        raise Unplanned(f"sums of {left} and {image} as {result}")
    elif group is not None and group.size > LARGEST_GROUP:
        raise Unplanned("larger groups")
    how = _EXACTLY if steps is not None else _IN_CHAINS if group is None else _IN_GROUPS
    filled = right.fill is not None, 0.0 if right.fill is None else right.fill
    of = right.taps, right.places, right.count, BYTES.get(image.name, WORDS), *filled
    groups = (1, False, False) if group is None else (group.size, group.nan_wins, group.drops_bits)
    starts = (*shapes, *[(1, 1)] * (2 - len(shapes)))
    end = (starts, len(shapes), _steps(steps, result), tuple(gathered), to)
    form = FLOATS.get(result.name, 0)
    return Product(size, (how, is_right_first, zero, tuple(size), of, (*groups, form), *end))


def _steps(steps: Steps | None, dtype: DType) -> tuple[int, ...]:
    """Multiplier, amount, zero point, mode, held, rectified, limits and bytes."""
    if steps is None:
        return 1, 0, 0, 0, 0, 0, *UNLIMITED, dtype.itemsize
    if any(not isinstance(part, int) for part in (steps.multiplier, steps.amount, steps.zero)):
        raise Unplanned("numbers of each row")
    how = (steps.mode, int(steps.held), int(steps.rectified), *steps.limits, dtype.itemsize)
    return int(steps.multiplier), int(steps.amount), int(steps.zero), *how


class _Run(NamedTuple):
    """Channels whose products stand together: for each tap all of them."""

    start: int
    stop: int
    width: int
    """Places for channels, of which the last ones may be empty."""
    first: int
    """Products of one tap before these."""


def _runs(channels: int, by_channel: bool, group: Group | None) -> list[_Run]:
    """The order of products: channel by channel, by groups of channels, or as weights are stored."""
    most = 1 if by_channel else _BLOCK if group is None else group.size
    return [
        _Run(start, min(channels, start + most), min(most, channels - start) if group is None else most, start)
        for start in range(0, channels, most)
    ]


def _taps(runs: list[_Run], in_channel: Array, plane: int) -> Array:
    found = []
    for run in runs:
        channels = np.full(run.width, -1, np.int64)
        channels[: run.stop - run.start] = np.arange(run.start, run.stop)
        found.append(np.where(channels < 0, -1, channels * plane + in_channel[:, None]).reshape(-1))
    return np.concatenate(found)


def _weights(product: Convolved, weight: Tensor, source: int, runs: list[_Run], count: int) -> Iterator[Any]:
    """The parts of weights (rows, channels, kernel h, kernel w)."""
    form = _format(weight.view.dtype)
    _, channels, high, wide = weight.view.shape
    taps = high * wide
    for index, piece in weight.pieces:
        blocks = [piece] if piece.ndim == 4 else [piece[:, block] for block in range(piece.shape[1])]
        start = index[1].start
        for block in blocks:
            words = block[:, :, ::-1, ::-1] if product.is_rotated else block
            stop = start + block.shape[1]
            if len(runs) == channels:  # one axis for all channels
                first = index[0].start * count + start * taps
                yield source, _LEFT, _part(words, form, first, (count, taps, wide, 1))
                start = stop
                continue
            for run in runs:
                low, high_end = max(start, run.start), min(stop, run.stop)
                if low < high_end:
                    part = words[:, low - start : high_end - start].transpose(0, 2, 3, 1)
                    first = index[0].start * count + run.first * taps + low - run.start
                    yield source, _LEFT, _part(part, form, first, (count, wide * run.width, run.width, 1))
            start = stop
        if start != index[1].stop:
            raise Unplanned("weights in another order")


def _four_axes(tensor: Tensor, source: int, which: int, steps: tuple[int, ...], corner: int = 0) -> Iterator[Any]:
    """The parts of a tensor of four axes: ``steps`` between their numbers, from ``corner`` on."""
    for index, piece in tensor.pieces:
        if piece.shape != tuple(part.stop - part.start for part in index):
            raise Unplanned("a layout of more axes")
        first = corner + sum(part.start * step for part, step in zip(index, steps, strict=True))
        form = _format(tensor.view.dtype)
        yield source, which, _part(piece, form, first, steps)


def _number(word: Array, dtype: DType) -> float:
    """The number of a stored word, as arithmetic takes it."""
    number = float(dtype.widen(word).reshape(-1)[0])
    is_subnormal = dtype.is_float and 0 < abs(number) < 2.0**-126
    if number != number or (is_subnormal and dtype.name != "f16"):
        raise Unplanned("a border of special numbers")
    return number


def _pair(shape: tuple[int, ...]) -> Pair:
    if len(shape) != 2:
        raise Unplanned("a matrix of more axes")
    rows, columns = shape
    return rows, columns


def _matrix_shape(tensor: Tensor) -> Pair:
    return _pair(tensor.view.shape)


def _parts(tensor: Tensor, source: int, which: int, steps: Pair) -> Iterator[Any]:
    """The pieces of a matrix: their words, and where these are among numbers.

    ``steps``: numbers between rows, and between columns, there.
    """
    form = _format(tensor.view.dtype)
    for index, piece in tensor.pieces:
        rows, columns = index
        first = rows.start * steps[0] + columns.start * steps[1]
        blocks = (piece.shape[2] * steps[1], steps[1]) if piece.ndim == 3 else (steps[1],)
        if piece.ndim > 3 or piece.size != (rows.stop - rows.start) * (columns.stop - columns.start):
            raise Unplanned("a layout of more axes")
        yield source, which, _part(piece, form, first, (steps[0], *blocks))


def _format(dtype: DType) -> int:
    if dtype.name not in _FORMATS:
        raise Unplanned(f"sums of {dtype}")
    return _FORMATS[dtype.name]


def _part(piece: Array, form: int, first: int, steps: tuple[int, ...]) -> tuple[Any, ...]:
    if piece.ndim > AXES:
        raise Unplanned("more than four axes")
    missing = AXES - piece.ndim
    return (form, piece), (1,) * missing + piece.shape, first, (0,) * missing + steps


def _constant(start: Array) -> tuple[Any, ...]:
    form, dtype = (_FORMATS["f32"], np.float32) if start.dtype == np.float32 else (_FORMATS["si32"], np.int32)
    if start.size != 1:
        raise Unplanned("a start of several numbers")
    words = start.astype(dtype).reshape(1, 1, 1, 1).view(np.uint32)
    return _part(words, form, 0, (0, 0, 0, 0))
