"""Windows over images in plans: convolutions, and windows of each channel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, SI8, SI16, Array
from tdb_dap.targets.arithmetic.stored import AXES, FLOATS, Stored, Unplanned
from tdb_dap.targets.arithmetic.sums import BYTES, Group, Image, Pair, Size, Step, Sums, Window
from tdb_dap.targets.arithmetic.windows import check_padded, offsets
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.kernel.constants import LARGEST_GROUP, Accumulation, Format, Part
from tdb_dap.targets.plans.packing import MOST_PRODUCTS, constant, format_of, four_axes, number_of
from tdb_dap.targets.plans.tensors import Tensor
from tdb_dap.targets.semantics.registry import Convolved, Pooled

_BLOCK = 64
"""Channels whose weights are together, as many as most chips store together; of whole numbers any order will do."""


_BYTES_OF_ROW = (5, 9)
"""Bytes of a multiplier and a shift, and of a start, multiplier and shift, of one row."""
_BYTES_WITH_BIAS = _BYTES_OF_ROW[1]


class _Padded(NamedTuple):
    """A padded image (n, channels, high, wide), and its windows."""

    channels: int
    high: int
    wide: int
    corner: int
    """Number in a plane at which the image begins."""
    steps: Pair
    """Numbers between rows, and between columns, of the image."""
    fill: float | None
    taps: Array
    """Of each tap in a plane, as ``places`` int64."""
    places: Array

    @property
    def plane(self) -> int:
        return self.high * self.wide

    def parts(self, image: Tensor, source: int) -> Iterator[Step]:
        """The parts of the image, and their places."""
        steps = (self.channels * self.plane, self.plane, *self.steps)
        return four_axes(image, source, Part.RIGHT_FACTORS, steps, self.corner)


def _padded(image: Tensor, result: Tensor, word: Array, f: Fields) -> _Padded:
    _, channels, h, w = image.view.shape
    rows, columns = f.opd0_y_ins0 + 1, f.opd0_x_ins0 + 1
    high = (h - 1) * rows + 1 + f.opd0_up_pad + f.opd0_dn_pad
    wide = (w - 1) * columns + 1 + f.opd0_lf_pad + f.opd0_rt_pad
    check_padded(image.view.shape[0] * channels, high, wide)
    taps, places = offsets(np.broadcast_to(np.int8(0), (1, channels, high, wide)), f)
    if result.view.shape[0] != image.view.shape[0] or places.size != result.view.shape[2] * result.view.shape[3]:
        raise Unplanned("results of another shape")
    fill = None if (high, wide) == (h, w) else number_of(word, image.view.dtype)
    corner = f.opd0_up_pad * wide + f.opd0_lf_pad
    return _Padded(channels, high, wide, corner, (rows * wide, columns), fill, taps.reshape(-1), places)


def convolution_of(x: Convolved, tensors: Mapping[str, Tensor], result: Tensor, f: Fields) -> Sums:
    """The sums of a convolution; Unplanned for what the kernel does not take."""
    image, weight = tensors[x.image], tensors[x.weight]
    batches, rows, height, width = result.view.shape
    padded = _padded(image, result, x.fill, f)
    if weight.view.shape != (rows, padded.channels, f.opd1_h, f.opd1_w):
        raise Unplanned("weights of another shape")
    group = x.group
    if group is not None and group.size > padded.channels:
        group = replace(group, size=padded.channels)
    runs = _runs(padded.channels, x.steps is None and group is None, group, x.by_parity)
    count = sum(run.width for run in runs) * padded.taps.size
    how = (
        Accumulation.GEMM_INT
        if x.steps is not None
        else Accumulation.GEMM_F32
        if group is None
        else Accumulation.GEMM_F16
    )
    _require_formats(weight, image, result, how)
    if (how == Accumulation.GEMM_INT and count >= MOST_PRODUCTS) or (group is not None and group.size > LARGEST_GROUP):
        raise Unplanned("sums beyond 32 bits, or large groups")
    size = Size(rows, count, batches * height * width)
    numbers = {role: number for number, role in enumerate(tensors)}
    pack = list(_weights(x, weight, numbers[x.weight], runs, count))
    pack += padded.parts(image, numbers[x.image])
    starts: list[Pair] = []
    if x.table is not None and tensors[x.table].view.shape[-1] == _BYTES_WITH_BIAS:
        starts.append((rows, 1))
    by_rows = (height * width, size.columns, width, 1)
    for number, start in enumerate(x.starts):
        if not isinstance(start, str):
            starts.append((1, 1))
            pack.append(constant(start, Part(Part.FIRST_START + number)))
        elif tensors[start].view.shape == (1, rows, 1, 1):
            starts.append((rows, 1))
            pack += four_axes(tensors[start], numbers[start], Part(Part.FIRST_START + number), (0, 1, 0, 0))
        elif tensors[start].view.shape == result.view.shape:
            starts.append((rows, size.columns))
            pack += four_axes(tensors[start], numbers[start], Part(Part.FIRST_START + number), by_rows)
        else:
            raise Unplanned("a start of another shape")
    if x.table is not None:
        pack += _table(tensors[x.table], numbers[x.table], rows, 1)
    planes = np.arange(batches, dtype=np.int64) * padded.channels * padded.plane
    taps, places = _taps(runs, padded), (planes[:, None] + padded.places).reshape(-1)
    return Sums(
        how=how,
        size=size,
        left=weight.view.dtype,
        image=Image(image.view.dtype, taps, places, batches * padded.channels * padded.plane, padded.fill),
        result=result.view.dtype,
        pack=pack,
        store=list(four_axes(result, 0, Part.LEFT_FACTORS, by_rows)),
        starts=starts,
        zero=x.zero,
        is_image_first=x.is_image_first,
        group=group,
        steps=x.steps,
        rectifies=x.rectifies,
        adds_last=x.adds_last,
        halves=x.by_parity,
        shifts_right=_has_bytes(tensors, x.table),
    )


def windows_of(x: Pooled, tensors: Mapping[str, Tensor], result: Tensor, f: Fields) -> Sums:
    """The windows of each channel; Unplanned for what the kernel does not take."""
    image = tensors[x.image]
    batches, channels, height, width = result.view.shape
    padded = _padded(image, result, x.fill, f)
    if x.by_parity:
        padded = padded._replace(taps=_in_two_chains(padded.taps))
    how = (
        Accumulation.WINDOW_MAX
        if x.weight is None
        else Accumulation.WINDOW_F32
        if x.steps is None
        else Accumulation.WINDOW_INT
    )
    if how != Accumulation.WINDOW_MAX:
        _require_formats(tensors[x.weight] if isinstance(x.weight, str) else image, image, result, how)
    elif image.view.dtype.name not in (*FLOATS, *BYTES):
        raise Unplanned(f"the largest number of {image.view.dtype}")
    size = Size(batches * channels, padded.taps.size, height * width)
    if padded.channels != channels or size.products >= MOST_PRODUCTS:
        raise Unplanned("results of other channels, or sums beyond 32 bits")
    numbers = {role: number for number, role in enumerate(tensors)}
    pack = list(padded.parts(image, numbers[x.image]))
    if isinstance(x.weight, str):
        steps = (channels * size.products, size.products, f.opd1_w, 1)
        pack += _in_each_batch(tensors[x.weight], numbers[x.weight], Part.LEFT_FACTORS, steps, batches, x.is_rotated)
    elif x.weight is not None:
        pack.append(constant(x.weight, Part.LEFT_FACTORS, size.rows * size.products))
    starts: list[Pair] = []
    if isinstance(x.start, str):
        starts.append((size.rows, 1))
        pack += _in_each_batch(tensors[x.start], numbers[x.start], Part.FIRST_START, (channels, 1, 0, 0), batches)
    elif x.table is not None and tensors[x.table].view.shape[-1] == _BYTES_WITH_BIAS:
        starts.append((size.rows, 1))
    elif x.start is not None or how == Accumulation.WINDOW_INT:
        rows = 1 if how == Accumulation.WINDOW_MAX else size.rows
        starts.append((rows, 1))
        pack.append(constant(np.zeros((1, 1), np.int64) if x.start is None else x.start, Part.FIRST_START, rows))
    if x.table is not None:
        pack += _table(tensors[x.table], numbers[x.table], channels, batches)
    by_rows = (channels * size.columns, size.columns, width, 1)
    step = f.res_op_y_str * padded.wide, f.res_op_x_str
    return Sums(
        how=how,
        size=size,
        left=image.view.dtype,
        image=Image(image.view.dtype, padded.taps, padded.places, size.rows * padded.plane, padded.fill),
        result=result.view.dtype,
        pack=pack,
        store=list(four_axes(result, 0, Part.LEFT_FACTORS, by_rows)),
        starts=starts,
        zero=x.zero,
        steps=x.steps,
        is_zero_positive=x.is_zero_positive,
        adds_last=x.adds_last,
        halves=x.by_parity,
        shifts_right=_has_bytes(tensors, x.table),
        window=Window(image.view.dtype, x.is_last, (height, width, *step)),
        keeps_nan=how == Accumulation.WINDOW_MAX,
    )


def _in_two_chains(taps: Array) -> Array:
    """The taps of chain t, then as many of chain y; see ``rules.Extremum``. A chain may have its first tap again."""
    even = taps[::2]
    odd = np.resize(taps[1::2] if taps.size > 1 else taps, even.size)
    return np.concatenate((odd, even) if taps.size % 2 or taps.size == 2 else (even, odd))


def _require_formats(weight: Tensor, image: Tensor, result: Tensor, how: int) -> None:
    """Unplanned where the kernel does not multiply numbers of these formats."""
    left, right, to = (each.view.dtype for each in (weight, image, result))
    if how in (Accumulation.GEMM_INT, Accumulation.WINDOW_INT):
        is_known = left.name in BYTES and right.name in BYTES
    else:
        is_known = left.name == right.name and left.name in FLOATS and to.name in FLOATS
        is_known &= how == Accumulation.WINDOW_F32 or (left.name == F32.name) == (how == Accumulation.GEMM_F32)
    if not is_known:
        raise Unplanned(f"sums of {left} and {right} as {to}")


def _in_each_batch(
    tensor: Tensor, source: int, part: Part, steps: tuple[int, ...], batches: int, is_rotated: bool = False
) -> Iterator[Step]:
    """The parts of a tensor of one batch, (1, channels, h, w), once for each batch."""
    for index, piece in tensor.pieces:
        if piece.ndim != 4 or index[0] != slice(0, 1):
            raise Unplanned("a layout of more axes")
        words = piece[:, :, ::-1, ::-1] if is_rotated else piece
        spread = np.broadcast_to(words, (batches, *piece.shape[1:]))
        yield Step(spread, format_of(tensor.view.dtype), index[1].start * steps[1], steps, part, source)


def _table(tensor: Tensor, source: int, channels: int, batches: int) -> Iterator[Step]:
    """The multiplier, shift and zero point of each channel of all batches.

    (1, channels, 1, 2) words of 32 bits: the second one has the shift in its low byte, the zero point in its high half.
    Or bytes, see ``_table_of_bytes``.
    """
    if tensor.view.shape == (1, channels, 1, tensor.view.shape[-1]) and tensor.view.shape[-1] in _BYTES_OF_ROW:
        yield from _table_of_bytes(tensor, source, channels, batches)
        return
    if tensor.view.shape != (1, channels, 1, 2):
        raise Unplanned("a table of another shape")
    for index, piece in tensor.pieces:
        if piece.ndim != AXES:
            raise Unplanned("a layout of more axes")
        words = Stored(np.broadcast_to(piece, (batches, *piece.shape[1:])), tensor.view.dtype)
        second = words._replace(bits=words.bits[..., 1:])
        for part, own in (
            (Part.MULTIPLIER, words._replace(bits=words.bits[..., :1])),
            (Part.AMOUNT, second.part(SI8, 0)),
            (Part.ZERO_POINT, second.part(SI16, 2)),
        ):
            yield Step(own.bits, format_of(own.dtype), index[1].start, (channels, 1, 0, 0), part, source)


def _has_bytes(tensors: Mapping[str, Tensor], table: str | None) -> bool:
    return table is not None and tensors[table].view.shape[-1] in _BYTES_OF_ROW


def _table_of_bytes(tensor: Tensor, source: int, channels: int, batches: int) -> Iterator[Step]:
    """A start of 32 bits if there are nine bytes, a multiplier of 32 bits, a shift to the right, without gaps."""
    for index, piece in tensor.pieces:
        if piece.ndim != AXES or piece.strides[-1] != 1:
            raise Unplanned("a layout of more axes")
        words = np.broadcast_to(piece, (batches, *piece.shape[1:]))
        first = words.shape[-1] - _BYTES_OF_ROW[0]
        parts = [(Part.MULTIPLIER, Format.PACKED_SI32, first), (Part.AMOUNT, Format.UI8, first + 4)]
        parts += [(Part.FIRST_START, Format.PACKED_SI32, 0)] if first else []
        for part, form, at in parts:
            yield Step(words[..., at : at + 1], form, index[1].start, (channels, 1, 0, 0), part, source)


class _Run(NamedTuple):
    """Channels whose products stand together, for each tap all of them: every ``step``-th of [start, stop)."""

    start: int
    stop: int
    width: int
    """Places for channels, of which the last ones may be empty."""
    step: int = 1


def _runs(channels: int, by_channel: bool, group: Group | None, by_parity: bool) -> list[_Run]:
    """The order of products: channel by channel, by groups of channels, even ones first, or as weights are stored."""
    if by_parity:
        return [_Run(first, channels, -(-channels // 2), 2) for first in (0, 1)]
    most = 1 if by_channel else _BLOCK if group is None else group.size
    return [
        _Run(start, min(channels, start + most), min(most, channels - start) if group is None else most)
        for start in range(0, channels, most)
    ]


def _taps(runs: list[_Run], padded: _Padded) -> Array:
    """The taps of all products in their order; -1 where a place for a channel is empty."""
    parts: list[Array] = []
    for width, alike in groupby(runs, key=lambda run: run.width):
        some = list(alike)
        starts, stops = (np.array([getattr(run, name) for run in some], np.int64) for name in ("start", "stop"))
        channels = starts[:, None] + np.arange(width, dtype=np.int64) * some[0].step
        places = channels[:, None] * padded.plane + padded.taps[:, None]
        parts.append(np.where((channels < stops[:, None])[:, None], places, -1).reshape(-1))
    return np.concatenate(parts)


def _weights(x: Convolved, weight: Tensor, source: int, runs: list[_Run], count: int) -> Iterator[Step]:
    """The parts of weights (rows, channels, kernel h, kernel w), among ``count`` products of each row."""
    form = format_of(weight.view.dtype)
    _, channels, high, wide = weight.view.shape
    taps = high * wide
    for index, piece in weight.pieces:
        # Numbers of 32 bits are stored channel by channel, narrower ones some channels at a time.
        by_channel = piece[:, :, 0] if piece.ndim == 5 and piece.shape[2] == 1 else piece
        is_whole = by_channel.ndim == 4
        blocks = [by_channel] if is_whole else [by_channel[:, block] for block in range(by_channel.shape[1])]
        row, start = index[0].start * count, index[1].start
        for block in blocks:
            words = block[:, :, ::-1, ::-1] if x.is_rotated else block
            stop = start + block.shape[1]
            if len(runs) == channels and runs[0].step == 1:
                yield Step(words, form, row + start * taps, (count, taps, wide, 1), Part.LEFT_FACTORS, source)
                start = stop
                continue
            top = row
            for run in runs:
                low, end = max(start + (run.start - start) % run.step, run.start), min(stop, run.stop)
                if low < end:
                    first = top + (low - run.start) // run.step
                    chosen = words[:, low - start : end - start : run.step].transpose(0, 2, 3, 1)
                    yield Step(chosen, form, first, (count, wide * run.width, run.width, 1), Part.LEFT_FACTORS, source)
                top += run.width * taps
            start = stop
        if start != index[1].stop:
            raise Unplanned("weights in another order")
