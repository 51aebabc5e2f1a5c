"""Gathering and scattering by index. Source: lockstep with the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import look_ups
from tdb_dap.targets.families import gather as op
from tdb_dap.targets.semantics.registry import Operation, semantics


def _fill(x: Operation) -> Array:
    """The constant for indices out of range."""
    word = x.fields.opd2_addr & ((1 << (8 * x.dtype.itemsize)) - 1)
    return np.array(word, x.dtype.bits_dtype)


def _fills(x: Operation) -> bool:
    """Whether indices out of range choose the constant; else they choose the last element."""
    return bool(x.fields.opd2_const or x.rules.fills_beyond)


@semantics("sg", op.GATHER_1D)
def gather(x: Operation) -> Array:
    """result[n, c, i] = data[n, c, index[i]]; out of range: the constant if enabled, else the last element."""
    f = x.fields
    if x["index"].dtype.itemsize > 2:  # the vendor's simulators take each for two of 16 bits
        raise NotSimulated("gathering by one index of 32 bits for all channels is not known")
    count = f.res0_h * f.res0_w
    index = x["index"].bits.reshape(-1)[:count].astype(np.int64)
    row = x["data"].bits[:, :, 0]
    taken = row[:, :, np.minimum(index, f.opd0_w - 1)]
    if _fills(x):
        taken[:, :, index >= f.opd0_w] = _fill(x)
    return taken.reshape(x.shape)


@semantics("sg", op.GATHER_2D)
def gather_2d(x: Operation) -> Array:
    """result[n, c, i] = data[n, c, index[i] >> 16, index[i] & 0xffff]."""
    f = x.fields
    count = f.res0_h * f.res0_w
    index = x["index"].bits.reshape(-1)[:count].astype(np.int64)
    rows, columns = index >> 16, index & 0xFFFF
    taken = x["data"].bits[:, :, np.minimum(rows, f.opd0_h - 1), np.minimum(columns, f.opd0_w - 1)]
    if _fills(x):
        taken[:, :, (rows >= f.opd0_h) | (columns >= f.opd0_w)] = _fill(x)
    return taken.reshape(x.shape)


@semantics("sg", *op.GATHERS)
def gather_per_channel(x: Operation) -> Array:
    """result[n, c, i] = data[c, index[n, c, i]]; out of range: the constant if enabled, else the last element."""
    f = x.fields
    planned = look_ups.looked_up_in(x["data"].stored, x["index"].stored, int(_fill(x)) if _fills(x) else None, x.shape)
    if planned is not None:
        return planned
    size = f.opd0_h * f.opd0_w
    data = x["data"].bits.reshape(f.res0_c, size)
    words = look_ups.looked_up(data, x["index"].bits[:, :, 0], int(_fill(x)) if _fills(x) else None)
    if words is not None:
        return words.reshape(x.shape)
    index = x["index"].bits[:, :, 0].astype(np.int64)
    rows = np.broadcast_to(data, (f.res0_n, f.res0_c, size))
    taken = np.take_along_axis(rows, np.minimum(index, size - 1), 2)
    if _fills(x):
        taken = np.where(index < size, taken, _fill(x))
    return taken.reshape(x.shape)


@semantics("sg", op.CHANNEL_SCATTER, op.CHANNEL_SCATTER_HAZARD)
def scatter_per_channel(x: Operation) -> Array:
    """result[n, c, index[n, c, j]] = data[c, j]; a later j wins, an index out of range is ignored."""
    f = x.fields
    planned = look_ups.scattered_in(x["data"].stored, x["index"].stored, x.shape)
    if planned is not None:
        return planned
    index = x["index"].bits[:, :, 0].astype(np.int64)
    count = f.opd1_w
    rows = x["data"].bits.reshape(f.res0_c, -1)
    size = f.res0_h * f.res0_w
    result = x["old"].bits.reshape(f.res0_n, f.res0_c, size)
    batches, channels = np.arange(f.res0_n)[:, None], np.arange(f.res0_c)[None]
    for j in range(count):
        place = index[:, :, j]
        inside = place < size
        at = np.minimum(place, size - 1)
        result[batches, channels, at] = np.where(inside, rows[None, :, j], result[batches, channels, at])
    return result.reshape(x.shape)


@semantics("sgl", op.LINE_GATHER)
def gather_rows(x: Operation) -> Array:
    """result[n, c, j, :] = data[c, index[n, c, j], :]; out of range: the constant if enabled, else the last row."""
    f = x.fields
    index = x["index"].bits[:, :, :, 0].astype(np.int64)
    rows = np.broadcast_to(x["data"].bits[0], (f.res0_c, f.opd0_h, f.res0_w))
    channels = np.arange(f.res0_c)[None, :, None]
    taken = rows[channels, np.minimum(index, f.opd0_h - 1)]
    return np.where((index < f.opd0_h)[..., None], taken, _fill(x)) if _fills(x) else taken


@semantics("sgl", op.LINE_SCATTER)
def scatter_rows(x: Operation) -> Array:
    """result[n, c, index[n, c, j], :] = data[c, j, :]; a later j wins, an index out of range is ignored."""
    f = x.fields
    index = x["index"].bits[:, :, :, 0].astype(np.int64)
    rows = np.broadcast_to(x["data"].bits[0], (f.res0_c, f.opd0_h, f.res0_w))
    result = x["old"].bits
    batches, channels = np.arange(f.res0_n)[:, None], np.arange(f.res0_c)[None]
    for j in range(f.opd0_h):
        place = index[:, :, j]
        at = np.minimum(place, f.res0_h - 1)
        inside = (place < f.res0_h)[..., None]
        result[batches, channels, at] = np.where(inside, rows[None, :, j], result[batches, channels, at])
    return result
