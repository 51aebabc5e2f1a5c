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


def _without_element(x: Operation, index: Array, size: int) -> Array:
    """Marks of indices that stand for no element: of all ones, where the command says so, on some chips all beyond.

    NotSimulated for others beyond the ``size`` elements: they end the vendor's simulator.
    """
    beyond = index >= size
    if x.rules.fills_beyond:
        return beyond
    most = (1 << min(16, 8 * x["index"].dtype.itemsize)) - 1
    without = index == most if x.fields.opd3_const else np.zeros(index.shape, np.bool_)
    _refuse(index, beyond & ~without, f"{size} elements")
    return without


def _without_row(x: Operation, index: Array, rows: int) -> Array:
    """Marks of indices beyond the rows, where the chip has such; else NotSimulated, whatever the command says."""
    beyond = index >= rows
    if not x.rules.fills_beyond:
        _refuse(index, beyond, f"{rows} rows")
    return beyond


def _refuse(index: Array, wrong: Array, what: str) -> None:
    if wrong.any():
        raise NotSimulated(f"index {int(index[wrong][0])} is beyond the {what} that it chooses from")


def _filled(x: Operation, taken: Array, without: Array) -> Array:
    """The gathered words, and the constant where there is no element."""
    if not without.any():
        return taken
    if not (x.fields.opd2_const or x.rules.fills_beyond):
        raise NotSimulated("a gather without a constant, by an index that stands for no element")
    return np.where(without, _fill(x), taken)


def _may_be_planned(x: Operation) -> bool:
    """Whether indices of all ones are indices like others."""
    return bool(x.rules.fills_beyond or not x.fields.opd3_const)


@semantics("sg", op.GATHER_1D)
def gather(x: Operation) -> Array:
    """result[n, c, i] = data[n, c, index[i]]; for an index of all ones the constant, where the command says so."""
    f = x.fields
    if x["index"].dtype.itemsize > 2:  # the vendor's simulators take each for two of 16 bits
        raise NotSimulated("gathering by one index of 32 bits for all channels is not known")
    count = f.res0_h * f.res0_w
    index = x["index"].bits.reshape(-1)[:count].astype(np.int64)
    without = _without_element(x, index, f.opd0_w)
    taken = x["data"].bits[:, :, 0][:, :, np.minimum(index, f.opd0_w - 1)]
    return _filled(x, taken, np.broadcast_to(without, taken.shape)).reshape(x.shape)


@semantics("sg", op.GATHER_2D)
def gather_2d(x: Operation) -> Array:
    """result[n, c, i] = data[n, c, index[i] >> 16, index[i] & 0xffff]."""
    f = x.fields
    count = f.res0_h * f.res0_w
    index = x["index"].bits.reshape(-1)[:count].astype(np.int64)
    rows, columns = index >> 16, index & 0xFFFF
    without = _without_element(x, rows, f.opd0_h) | _without_element(x, columns, f.opd0_w)
    taken = x["data"].bits[:, :, np.minimum(rows, f.opd0_h - 1), np.minimum(columns, f.opd0_w - 1)]
    return _filled(x, taken, np.broadcast_to(without, taken.shape)).reshape(x.shape)


@semantics("sg", *op.GATHERS)
def gather_per_channel(x: Operation) -> Array:
    """result[n, c, i] = data[c, index[n, c, i]]; for an index of all ones the constant, where the command says so."""
    f = x.fields
    fill = int(_fill(x)) if x.rules.fills_beyond else None
    if _may_be_planned(x):
        planned = look_ups.looked_up_in(x["data"].stored, x["index"].stored, fill, x.shape)
        if planned is not None:
            return planned
    size = f.opd0_h * f.opd0_w
    data = x["data"].bits.reshape(f.res0_c, size)
    index = x["index"].bits[:, :, 0].astype(np.int64)
    without = _without_element(x, index, size)
    if not without.any():
        words = look_ups.looked_up(data, x["index"].bits[:, :, 0], fill)
        if words is not None:
            return words.reshape(x.shape)
    rows = np.broadcast_to(data, (f.res0_n, f.res0_c, size))
    return _filled(x, np.take_along_axis(rows, np.minimum(index, size - 1), 2), without).reshape(x.shape)


@semantics("sg", op.CHANNEL_SCATTER, op.CHANNEL_SCATTER_HAZARD)
def scatter_per_channel(x: Operation) -> Array:
    """result[n, c, index[n, c, j]] = data[c, j]; a later j wins, an index that stands for no element is left out."""
    f = x.fields
    if _may_be_planned(x):
        planned = look_ups.scattered_in(x["data"].stored, x["index"].stored, x.shape, x.rules.fills_beyond)
        if planned is not None:
            return planned
    index = x["index"].bits[:, :, 0].astype(np.int64)
    count = f.opd1_w
    rows = x["data"].bits.reshape(f.res0_c, -1)
    size = f.res0_h * f.res0_w
    _without_element(x, index[:, :, :count], size)
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
    """result[n, c, j, :] = data[c, index[n, c, j], :]."""
    f = x.fields
    index = x["index"].bits[:, :, :, 0].astype(np.int64)
    without = _without_row(x, index, f.opd0_h)
    rows = np.broadcast_to(x["data"].bits[0], (f.res0_c, f.opd0_h, f.res0_w))
    channels = np.arange(f.res0_c)[None, :, None]
    return np.where(without[..., None], _fill(x), rows[channels, np.minimum(index, f.opd0_h - 1)])


@semantics("sgl", op.LINE_SCATTER)
def scatter_rows(x: Operation) -> Array:
    """result[n, c, index[n, c, j], :] = data[c, j, :]; a later j wins."""
    f = x.fields
    index = x["index"].bits[:, :, :, 0].astype(np.int64)
    without = _without_row(x, index, f.res0_h)[..., None]
    rows = np.broadcast_to(x["data"].bits[0], (f.res0_c, f.opd0_h, f.res0_w))
    result = x["old"].bits
    batches, channels = np.arange(f.res0_n)[:, None], np.arange(f.res0_c)[None]
    for j in range(f.opd0_h):
        at = np.minimum(index[:, :, j], f.res0_h - 1)
        old = result[batches, channels, at]
        result[batches, channels, at] = np.where(without[:, :, j], old, rows[None, :, j])
    return result
