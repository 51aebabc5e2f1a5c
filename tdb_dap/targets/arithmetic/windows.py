"""Sliding windows: padding, insertion of zeros, taps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic.stored import Unplanned, Value
from tdb_dap.targets.declaration.fields import Fields

_PAD_MODES: dict[int, Literal["reflect", "edge", "wrap"]] = {1: "reflect", 2: "edge", 3: "wrap"}


_MOST_PADDED = 1 << 28
"""Numbers that a padded input may have; chips pad while they read, and real ones have a few million."""


class Windows(NamedTuple):
    """Windows over planes of an image, (planes, numbers) without gaps."""

    image: Array
    offsets: Array
    """Of each tap in a plane, int64."""
    size: tuple[int, int]
    """Rows and columns of results in a plane."""
    steps: tuple[int, int]
    """Numbers of the image between rows, and between columns, of results."""


def padded(bits: Array, f: Fields, pad_value: Value | None, inserted: int = 0) -> Array:
    """Stored words (n, c, h, w) with others inserted between elements, then padded.

    pad_mode 0: a constant, or per channel (value of the border, value between elements); 1 reflect, 2 edge, 3
    circular. ``inserted``: word between elements where the border's value is a constant.
    """
    rows, columns = f.opd0_y_ins0, f.opd0_x_ins0
    up, down, left, right = f.opd0_up_pad, f.opd0_dn_pad, f.opd0_lf_pad, f.opd0_rt_pad
    if not (rows or columns or up or down or left or right):
        return bits
    n, c, h, w = bits.shape
    height, width = (h - 1) * (rows + 1) + 1, (w - 1) * (columns + 1) + 1
    check_padded(n * c, height + up + down, width + left + right)
    border: Array = np.zeros((1, 1, 1, 1), bits.dtype)
    between: Array = border
    if pad_value is not None and pad_value.is_constant:
        border = pad_value.bits
        between = np.full((1, 1, 1, 1), inserted & ((1 << 8 * bits.dtype.itemsize) - 1), bits.dtype)
    elif f.pad_mode == 0 and pad_value is not None:
        border, between = pad_value.bits[..., :1], pad_value.bits[..., 1:]
    inner = np.empty((n, c, height, width), bits.dtype)
    inner[...] = between
    inner[:, :, :: rows + 1, :: columns + 1] = bits
    if f.pad_mode:
        margins = ((0, 0), (0, 0), (up, down), (left, right))
        surrounded: Array = np.pad(inner, margins, _PAD_MODES[f.pad_mode])
        return surrounded
    image = np.empty((n, c, height + up + down, width + left + right), bits.dtype)
    image[...] = border
    image[:, :, up : up + height, left : left + width] = inner
    return image


def check_padded(planes: int, height: int, width: int) -> None:
    """NotSimulated where a padded input would take all of the memory."""
    if (count := planes * height * width) > _MOST_PADDED:
        raise NotSimulated(f"its padded input has {count:,} numbers; up to {_MOST_PADDED:,} are simulated")


def border(f: Fields, pad_value: Value | None, inserted: int, dtype: np.dtype[Any]) -> Array:
    """The one word that ``padded`` puts around and between elements, (1, 1, 1, 1); Unplanned where it is not one."""
    if f.pad_mode and (f.opd0_up_pad or f.opd0_dn_pad or f.opd0_lf_pad or f.opd0_rt_pad):
        raise Unplanned("padding with words of the image")
    if pad_value is None:
        return np.zeros((1, 1, 1, 1), dtype)
    if not pad_value.is_constant:
        raise Unplanned("padding with words of a tensor")
    between = inserted & ((1 << 8 * dtype.itemsize) - 1)
    if (f.opd0_y_ins0 or f.opd0_x_ins0) and int(pad_value.bits.reshape(-1)[0]) != between:
        raise Unplanned("other words between elements than around them")
    return pad_value.bits


def _check(image: Array, f: Fields) -> None:
    _, _, height, width = f.four("res0")
    last_y = (f.opd1_h - 1) * (f.opd1_y_ins0 + 1) + (height - 1) * f.res_op_y_str
    last_x = (f.opd1_w - 1) * (f.opd1_x_ins0 + 1) + (width - 1) * f.res_op_x_str
    if last_y >= image.shape[2] or last_x >= image.shape[3]:
        raise NotSimulated(
            f"the window reaches row {last_y}, column {last_x} of a padded input of "
            f"{image.shape[2]} x {image.shape[3]}: undefined on the chip"
        )


def offsets(image: Array, f: Fields) -> tuple[Array, Array]:
    """Offsets of windows in a padded image (n, c, h, w), in elements, int64: of the taps, and of the results.

    The tap at kernel row y, column x meets element tap[y, x] + place[result] of a channel; results run by rows.
    """
    _check(image, f)
    row = image.shape[3]
    _, _, height, width = f.four("res0")
    rows = np.arange(f.opd1_h, dtype=np.int64)[:, None] * ((f.opd1_y_ins0 + 1) * row)
    taps = rows + np.arange(f.opd1_w, dtype=np.int64) * (f.opd1_x_ins0 + 1)
    lines = np.arange(height, dtype=np.int64)[:, None] * (f.res_op_y_str * row)
    return taps, (lines + np.arange(width, dtype=np.int64) * f.res_op_x_str).reshape(-1)


def windows(image: Array, f: Fields) -> Array:
    """All elements that all taps meet: a view (n, c, kernel rows, kernel columns, result rows, result columns)."""
    _check(image, f)
    _, _, height, width = f.four("res0")
    batch, channel, row, column = image.strides
    steps = (f.opd1_y_ins0 + 1) * row, (f.opd1_x_ins0 + 1) * column, f.res_op_y_str * row, f.res_op_x_str * column
    shape = (*image.shape[:2], f.opd1_h, f.opd1_w, height, width)
    return as_strided(image, shape, (batch, channel, *steps), writeable=False)


def taps(image: Array, f: Fields) -> Iterator[tuple[int, int, Array]]:
    """(ky, kx, the elements that this tap meets): views (n, c, out_h, out_w), rows of the kernel outermost."""
    _, _, height, width = f.four("res0")
    _check(image, f)
    step_y, step_x = f.res_op_y_str, f.res_op_x_str
    dilation_y, dilation_x = f.opd1_y_ins0 + 1, f.opd1_x_ins0 + 1
    for ky in range(f.opd1_h):
        for kx in range(f.opd1_w):
            top, left = ky * dilation_y, kx * dilation_x
            yield (
                ky,
                kx,
                image[
                    :,
                    :,
                    top : top + (height - 1) * step_y + 1 : step_y,
                    left : left + (width - 1) * step_x + 1 : step_x,
                ],
            )
