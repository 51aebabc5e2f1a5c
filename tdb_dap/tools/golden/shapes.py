"""Goldens of ops that only move numbers."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden

_END = (1 << 63) - 1


@golden("Reshape", "tpu.View", "top.View", "Unsqueeze", "Squeeze", "Flatten", "Identity", "top.Input", "Input")
def reshape(call: Call) -> Array:
    """The same numbers in the shape of the result."""
    x = call[0]
    if call.result is not None and call.result.shape is not None:
        return x.reshape(call.result.shape)
    name = call.name.partition(".")[2]
    axes = [axis % (x.ndim + (name == "Unsqueeze")) for axis in call.numbers("axes")]
    if name == "Unsqueeze" and len(axes) == 1:
        return np.expand_dims(x, axes[0])
    if name == "Squeeze":
        return np.squeeze(x, tuple(axes) or None)
    if name == "Flatten":
        start, end = int(call.number("start_dim", 1)), int(call.number("end_dim", -1)) % x.ndim
        return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])
    if name == "Reshape" and (shape := call.numbers("shape")):
        return x.reshape([x.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)])
    if name in ("Identity", "Input"):
        return x
    raise NoGolden("the shape of the result is not known")


@golden("tpu.Weight2Activation", "tpu.Yield", "tpu.Copy")
def passed_on(call: Call) -> Array:
    """The operand as it is."""
    return call[0]


@golden("Permute")
def permute(call: Call) -> Array:
    """Axes in the order ``order``."""
    return call[0].transpose(call.numbers("order"))


@golden("top.Transpose", "Transpose")
def transpose(call: Call) -> Array:
    """Two axes exchanged."""
    return np.swapaxes(call[0], call.axis(call[0].ndim, "dim0"), call.axis(call[0].ndim, "dim1", 1))


@golden("Concat")
def concatenate(call: Call) -> Array:
    """Operands one after another along ``axis``."""
    arrays = [array for array in call.inputs if array is not None]
    return call.relu(np.concatenate(arrays, axis=call.axis(arrays[0].ndim)))


@golden("Split")
def split(call: Call) -> tuple[Array, ...]:
    """Parts along ``axis`` of the lengths ``split_size``, or of equal ones."""
    x = call[0]
    axis = call.axis(x.ndim)
    sizes = call.numbers("split_size")
    if sizes:
        return tuple(np.split(x, np.cumsum(sizes)[:-1].tolist(), axis=axis))
    return tuple(np.split(x, len(call.result_types), axis=axis))


@golden("Slice", "top.StridedSlice")
def cut(call: Call) -> Array:
    """Elements from ``offset`` to before ``ends`` in ``steps``, on ``axes`` or on all."""
    x = call[0]
    if any(call.optional(i) is not None for i in (1, 2, 3)):
        raise NoGolden("bounds that are computed")
    offsets, steps, ends = call.numbers("offset"), call.numbers("steps"), call.numbers("ends")
    axes = call.numbers("axes") or list(range(len(offsets)))
    index: list[slice] = [slice(None)] * x.ndim
    for axis, first, step, end in zip(axes, offsets, steps, ends, strict=True):
        extent = x.shape[axis]
        start = first + extent if first < 0 else first
        if step > 0:
            stop = extent if end >= _END else (max(0, end + extent) if end < 0 else end)
            index[axis] = slice(start, stop, step)
        else:
            stop = None if end < -extent else (end + extent if end < 0 else end)
            index[axis] = slice(min(start, extent - 1), stop, step)
    return x[tuple(index)]


@golden("Pad")
def pad(call: Call) -> Array:
    """Padded by ``paddings``, all starts before all ends, with ``val``, the edge, or what is mirrored at it."""
    x = call[0]
    if call.flag("with_insert_zero"):
        raise NoGolden("zeros between the elements")
    amounts = call.numbers("paddings")
    around = [(amounts[i], amounts[i + x.ndim]) for i in range(x.ndim)]
    mode = str(call.get("mode", "constant"))
    if mode == "constant":
        return np.pad(x, around, constant_values=call.number("val"))
    return np.pad(x, around, mode={"reflect": "reflect", "symmetric": "symmetric"}.get(mode, "edge"))  # type: ignore[call-overload]


@golden("Tile")
def tile(call: Call) -> Array:
    """Repeated ``tile`` times along each axis."""
    return np.tile(call[0], call.numbers("tile"))


@golden("Expand")
def expand(call: Call) -> Array:
    """Repeated to the shape of the result."""
    shape = call.numbers("shape") or (call.result.shape if call.result else None)
    if shape is None:
        raise NoGolden("the shape of the result is not known")
    return np.broadcast_to(call[0], np.broadcast_shapes(call[0].shape, tuple(shape)))


@golden("Upsample")
def upsample(call: Call) -> Array:
    """Every number ``scale_h`` by ``scale_w`` times."""
    result = call[0].repeat(int(call.number("scale_h", 1)), axis=2).repeat(int(call.number("scale_w", 1)), axis=3)
    return call.relu(result)


@golden("tpu.SwapDimInner", "top.SwapDimInner")
def swap_halves(call: Call) -> Array:
    """Axes with an ``offset``: what stands before it goes to the end."""
    x = call[0]
    for axis, offset in enumerate(call.numbers("offset")):
        if offset:
            x = np.roll(x, -offset, axis=axis)
    return x


@golden("top.ShuffleChannel", "tpu.ShuffleChannel")
def shuffle(call: Call) -> Array:
    """Channels of ``group`` groups taken in turns."""
    x, groups = call[0], int(call.number("group", 1))
    return x.reshape(x.shape[0], groups, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)


@golden("Depth2Space")
def depth_to_space(call: Call) -> Array:
    """Channels spread over blocks of ``block_h`` by ``block_w``, or back with ``is_inversed``."""
    if not (call.attributes.get("in_is_NCHW") and call.attributes.get("out_is_NCHW")) or call.flag("swap_cr"):
        raise NoGolden("channels last, or blocks exchanged")
    x, high, wide = call[0], int(call.number("block_h")), int(call.number("block_w"))
    n, c, h, w = x.shape
    if call.flag("is_inversed"):
        blocks = x.reshape(n, c, h // high, high, w // wide, wide)
        order = (0, 1, 3, 5, 2, 4) if call.flag("is_CRD") else (0, 3, 5, 1, 2, 4)
        return blocks.transpose(order).reshape(n, -1, h // high, w // wide)
    if call.flag("is_CRD"):
        blocks = x.reshape(n, -1, high, wide, h, w).transpose(0, 1, 4, 2, 5, 3)
    else:
        blocks = x.reshape(n, high, wide, -1, h, w).transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(n, -1, h * high, w * wide)
