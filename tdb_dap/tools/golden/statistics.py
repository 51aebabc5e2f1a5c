"""Goldens of reductions and normalisations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden

_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "ReduceMean": np.mean,
    "ReduceSum": np.sum,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceL1": lambda x, **given: np.abs(x).sum(**given),
    "ReduceL2": lambda x, **given: np.sqrt(np.square(x).sum(**given)),
}


@golden("Reduce")
def reduce(call: Call) -> Array:
    """One number of all along ``axes``, by ``mode``."""
    axes = tuple(axis % call[0].ndim for axis in call.numbers("axes")) or None
    function = _REDUCTIONS.get(str(call.get("mode")))
    if function is None:
        raise NoGolden(f"mode {call.get('mode')}")
    return np.asarray(function(call[0], axis=axes, keepdims=call.attributes.get("keepdims", True) is True))


def _normalised(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(np.square(x - mean).mean(axis=axes, keepdims=True) + eps)


def _scaled(x: Array, call: Call, first: int, shape: tuple[int, ...] | None) -> Array:
    """Times the operand ``first``, plus the one after it, each in ``shape`` (None: as it is)."""
    scale, offset = call.optional(first), call.optional(first + 1)
    if scale is not None:
        x = x * (scale.reshape(shape) if shape is not None else scale)
    return x if offset is None else x + (offset.reshape(shape) if shape is not None else offset)


@golden("LayerNorm")
def layer_norm(call: Call) -> Array:
    """Mean 0 and variance 1 over the axes from ``axis`` on, scaled."""
    x, axis = call[0], call.axis(call[0].ndim)
    shape = tuple(1 for _ in x.shape[:axis]) + x.shape[axis:]
    return _scaled(_normalised(x, tuple(range(axis, x.ndim)), call.number("eps")), call, 1, shape)


@golden("RMSNorm")
def root_mean_square_norm(call: Call) -> Array:
    """Mean square 1 along the last axis, scaled."""
    x = call[0]
    normed = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + call.number("eps"))
    scale = call.optional(1)
    return normed if scale is None else normed * scale.reshape(-1)


@golden("InstanceNorm")
def instance_norm(call: Call) -> Array:
    """Mean 0 and variance 1 of each channel of each image, scaled."""
    x = call[0]
    channels = (1, -1, *[1] * (x.ndim - 2))
    return _scaled(_normalised(x, tuple(range(2, x.ndim)), call.number("eps")), call, 1, channels)


@golden("GroupNorm")
def group_norm(call: Call) -> Array:
    """Mean 0 and variance 1 of each of ``num_groups`` groups of channels, scaled by channel."""
    x, groups = call[0], int(call.number("num_groups", 1))
    parts = x.reshape(x.shape[0], groups, -1)
    channels = (1, -1, *[1] * (x.ndim - 2))
    return _scaled(_normalised(parts, (2,), call.number("eps")).reshape(x.shape), call, 1, channels)


@golden("top.BatchNorm")
def batch_norm(call: Call) -> Array:
    """Channels less their stored mean over the root of their stored variance, scaled."""
    x = call[0]
    shape = (1, -1, *[1] * (x.ndim - 2))
    mean, variance = call[1].reshape(shape), call[2].reshape(shape)
    normed = (x - mean) / np.sqrt(variance + call.number("epsilon", 1e-5))
    return call.relu(_scaled(normed, call, 3, shape))


@golden("Scale")
def scale(call: Call) -> Array:
    """Each channel times a number, plus another."""
    x = call[0]
    return call.relu(_scaled(x, call, 1, (1, -1, *[1] * (x.ndim - 2))))


@golden("top.Normalize", "top.L2Norm")
def unit_length(call: Call) -> Array:
    """Over its length along ``axis``."""
    x, axis = call[0], call.axis(call[0].ndim, default=1)
    return x / np.sqrt(np.square(x).sum(axis=axis, keepdims=True) + call.number("eps"))


@golden("LRN")
def local_response(call: Call) -> Array:
    """x / (bias + alpha / size * sum of x² over ``size`` channels around)^beta."""
    x, size = call[0], int(call.number("size", 1))
    before = (size - 1) // 2
    margins = [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)]
    squares = np.pad(np.square(x), margins)
    total = sum((squares[:, first : first + x.shape[1]] for first in range(size)), np.zeros(x.shape))
    return np.asarray(
        x / (call.number("bias", 1) + call.number("alpha", 1e-4) / size * total) ** call.number("beta", 0.75)
    )
