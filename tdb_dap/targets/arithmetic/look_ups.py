"""Look-ups of words described for the kernel, see ``elements``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, Array
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.elements import Elements
from tdb_dap.targets.arithmetic.stored import AXES, CONSTANT, OF_SIZE, Stored
from tdb_dap.targets.kernel.constants import Format, Function

_WORDS = (1, 2, 4)
"""Bytes of words that are looked up, or that say which."""
_UNSIGNED = {1: Format.UI8, 2: Format.UI16, 4: Format.UI32}


def looked_up(rows: Array, index: Array, fill: int | None) -> Array | None:
    """rows[c, index[n, c, i]], of 1, 2 or 4 bytes; beyond the rows ``fill``; where that is None no index may be.

    ``rows``: (channels, size); ``index``: unsigned (n, channels, count).
    """
    if not kernel.is_active() or rows.itemsize not in _WORDS or index.itemsize not in _WORDS or not rows.size:
        return None
    words, chosen = np.ascontiguousarray(rows)[None, :, None], np.ascontiguousarray(index)[:, :, None]
    numbers = Stored(words, F32), Stored(chosen, F32)
    looked: Array | None = _look_up(*numbers, fill, chosen.shape).computed()
    return None if looked is None else looked.reshape(index.shape)


def _look_up(table: Stored, index: Stored, fill: int | None, shape: tuple[int, ...]) -> Elements:
    """``table``: (1, channels, 1, size); ``index``: of the result's shape."""
    form = {"rows": table.bits.shape[1], "terms": table.bits.shape[3], "fill": fill or 0, "fills": fill is not None}
    operand, rows = (OF_SIZE[index.bits.itemsize], index), (OF_SIZE[table.bits.itemsize], table)
    return Elements(Function.LOOKED_UP, [operand], shape, table.bits.dtype, form, rows)


def looked_up_in(rows: Stored, index: Stored, fill: int | None, shape: tuple[int, ...]) -> Any:
    """The plan of ``looked_up`` with operands of a plan, of four axes; None for operands whose words are known.

    ``rows``: (1, channels, h, w), each channel's h x w words in equal steps; ``index``: (n, channels, 1, count);
    ``shape``: of the result, (n, channels, ...) of count elements in each channel.
    """
    size, channels = rows.bits[0, 0].size, rows.bits.shape[1]
    is_taken = rows.bits.itemsize in _WORDS and index.bits.itemsize in _WORDS and len(shape) == AXES
    if CONSTANT in (rows.source, index.source) or not is_taken or channels != shape[1] or not size:
        return None
    table, chosen = rows.bits.reshape(1, channels, 1, size), index.bits.reshape(shape)
    if not (np.may_share_memory(table, rows.bits) and np.may_share_memory(chosen, index.bits)):
        return None
    return _look_up(rows._replace(bits=table), index._replace(bits=chosen), fill, shape)


def looked_up_by_lane(table: Stored, index: Stored) -> Any:
    """The plan of words of the table in each channel's lane, at unsigned bytes of four axes; None for known words.

    ``table``: (1, lanes, 1, 256).
    """
    if CONSTANT in (table.source, index.source) or index.bits.ndim != AXES or table.bits.itemsize not in _WORDS:
        return None
    return _look_up(table, index, None, index.bits.shape)


def looked_up_at(table: Stored, index: Stored) -> Any:
    """Words of the table at unsigned bytes, of their shape; None without the kernel. ``table``: (1, 1, 1, 256)."""
    if not kernel.is_active() or len(index.bits.shape) > AXES or table.bits.itemsize not in _WORDS:
        return None
    return _look_up(table, index, None, index.bits.shape).computed()


def scattered_in(rows: Stored, index: Stored, shape: tuple[int, ...], leaves_out: bool) -> Any:
    """The plan of words put into rows by index, with operands of a plan, of four axes; None where it has none.

    result[n, c, index[n, c, 0, j]] = rows[0, c, j], a later j wins; an index beyond the h x w words of a channel is
    left out if it ``leaves_out``, else there is none; all other words of the result stay as they are.

    ``rows``: (1, channels, h, w), each channel's words in equal steps; ``index``: unsigned (n, channels, 1, count);
    ``shape``: of the result, (n, channels, h, w).
    """
    size, channels, count = rows.bits[0, 0].size, rows.bits.shape[1], index.bits.shape[3]
    is_taken = rows.bits.itemsize in _WORDS and index.bits.itemsize in _WORDS and len(shape) == AXES
    if CONSTANT in (rows.source, index.source) or not is_taken or channels != shape[1] or not 0 < count <= size:
        return None
    table = rows.bits.reshape(1, channels, 1, size)[..., :count]
    if not np.may_share_memory(table, rows.bits) or index.bits[0, 0, 0].strides != (index.bits.itemsize,):
        return None
    first = _UNSIGNED[index.bits.itemsize], index._replace(bits=index.bits[..., :1])
    form = {"rows": channels, "terms": count, "fills": leaves_out}
    words = OF_SIZE[rows.bits.itemsize], rows._replace(bits=table)
    return Elements(Function.SCATTERED, [first], shape, rows.bits.dtype, form, words)
