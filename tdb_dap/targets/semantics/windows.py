"""Sliding windows: padding, insertion of zeros, taps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from tdb_dap.engine.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.families.fields import Fields
from tdb_dap.targets.semantics.registry import Value

_PAD_MODES: dict[int, Literal["reflect", "edge", "wrap"]] = {1: "reflect", 2: "edge", 3: "wrap"}


def padded(bits: Array, f: Fields, pad_value: Value | None) -> Array:
    """Stored words (n, c, h, w) with zeros inserted between elements, then padded.

    pad_mode 0: a constant, or per channel (value of the border, value between elements); 1 reflect, 2 edge, 3
    circular.
    """
    rows, columns = f.opd0_y_ins0, f.opd0_x_ins0
    up, down, left, right = f.opd0_up_pad, f.opd0_dn_pad, f.opd0_lf_pad, f.opd0_rt_pad
    if not (rows or columns or up or down or left or right):
        return bits
    n, c, h, w = bits.shape
    height, width = (h - 1) * (rows + 1) + 1, (w - 1) * (columns + 1) + 1
    border: Array = np.zeros((1, 1, 1, 1), bits.dtype)
    between: Array = border
    if f.pad_mode == 0 and pad_value is not None:
        if pad_value.is_constant:
            border = pad_value.bits
        else:
            border, between = pad_value.bits[..., :1], pad_value.bits[..., 1:]
    inner = np.empty((n, c, height, width), bits.dtype)
    inner[...] = between
    inner[:, :, :: rows + 1, :: columns + 1] = bits
    if f.pad_mode:
        margins = ((0, 0), (0, 0), (up, down), (left, right))
        surrounded: Array = np.pad(inner, margins, _PAD_MODES[f.pad_mode])
        return surrounded
    whole = np.empty((n, c, height + up + down, width + left + right), bits.dtype)
    whole[...] = border
    whole[:, :, up : up + height, left : left + width] = inner
    return whole


def taps(image: Array, f: Fields) -> Iterator[tuple[int, int, Array]]:
    """(ky, kx, the elements that this tap meets): views (n, c, out_h, out_w), rows of the kernel outermost."""
    _, _, height, width = f.four("res0")
    step_y, step_x = f.res_op_y_str, f.res_op_x_str
    dilation_y, dilation_x = f.opd1_y_ins0 + 1, f.opd1_x_ins0 + 1
    last_y = (f.opd1_h - 1) * dilation_y + (height - 1) * step_y
    last_x = (f.opd1_w - 1) * dilation_x + (width - 1) * step_x
    if last_y >= image.shape[2] or last_x >= image.shape[3]:
        raise NotSimulated(
            f"the window reaches row {last_y}, column {last_x} of a padded input of "
            f"{image.shape[2]} x {image.shape[3]}: undefined on the chip"
        )
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
