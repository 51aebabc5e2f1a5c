"""Goldens of ops on windows: convolution, its transpose, pooling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden


def patches(
    x: Array, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int], fill: float
) -> Array:
    """Windows of x [n, c, spatial...] as [n, c, out..., kernel...]; ``pads``: all starts, then all ends."""
    rank = len(kernel)
    around = [(0, 0), (0, 0), *((pads[i], pads[i + rank]) for i in range(rank))]
    x = np.pad(x, around, constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None), slice(None), *(slice(None, None, s) for s in strides)]
    steps += [slice(None, None, d) for d in dilations]
    return view[tuple(steps)]


def convolution(
    x: Array,
    weight: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
) -> Array:
    """x [n, ic, spatial...] with weight [oc, ic / groups, kernel...], float64."""
    n, rank = x.shape[0], len(kernel)
    patch_columns = patches(x, kernel, strides, dilations, pads, 0.0)
    out = patch_columns.shape[2 : 2 + rank]
    inner, outer = x.shape[1] // groups, weight.shape[0] // groups
    if inner == outer == 1:
        return _of_single_channels(patch_columns, weight, rank)
    results = []
    for group in range(groups):
        part = patch_columns[:, group * inner : (group + 1) * inner]
        columns = np.moveaxis(part, 1, 1 + rank).reshape(n * math.prod(out), -1)
        rows = weight[group * outer : (group + 1) * outer].reshape(outer, -1)
        results.append((columns @ rows.T).reshape(n, *out, outer))
    return np.moveaxis(np.concatenate(results, axis=-1), -1, 1)


def _of_single_channels(windows: Array, weight: Array, rank: int) -> Array:
    """Sums of windows [n, c, out..., kernel...], each channel with its own weight [c, 1, kernel...]."""
    sums = np.zeros(windows.shape[: 2 + rank])
    by_place = weight[:, 0].reshape(weight.shape[0], -1).T
    for place, factors in zip(np.ndindex(*weight.shape[2:]), by_place, strict=True):
        at: Any = (Ellipsis, *place)
        sums += windows[at] * factors.reshape(-1, *[1] * rank)
    return sums


def window(call: Call, rank: int) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations and pads of an op."""
    return (
        call.numbers("strides", (1,) * rank),
        call.numbers("dilations", (1,) * rank),
        call.numbers("pads", (0,) * 2 * rank),
    )


def convolved(call: Call, x: Array, weight: Array) -> Array:
    """The sums of a convolution, without bias."""
    kernel = call.numbers("kernel_shape") or list(weight.shape[2:])
    groups = int(call.number("group", 1))
    rank = len(kernel)
    if x.ndim < rank + 2 and all(k == 1 for k in kernel[x.ndim - rank - 2 :]):
        x = x.reshape(*x.shape, *[1] * (rank + 2 - x.ndim))  # one axis, written as an image of width 1
    if x.ndim != rank + 2:
        raise NoGolden(f"{x.ndim} axes and a kernel of {rank}")
    weight = weight.reshape(-1, x.shape[1] // groups, *kernel)
    return convolution(x, weight, kernel, *window(call, rank), groups)


def with_bias(sums: Array, bias: Array | None) -> Array:
    """Plus one number for each channel."""
    return sums if bias is None else sums + bias.reshape(1, -1, *[1] * (sums.ndim - 2))


@golden("Conv", "tpu.Conv1D", "tpu.Conv2D", "tpu.Conv3D")
def convolve(call: Call) -> Array:
    """Convolution with bias and merged activation."""
    return call.relu(with_bias(convolved(call, call[0], call[1]), call.optional(2)))


def transposed(call: Call, x: Array, weight: Array) -> Array:
    """The sums of a transposed convolution, without bias; weight [oc, ic / groups, kernel...]."""
    kernel = call.numbers("kernel_shape")
    rank, groups = len(kernel), int(call.number("group", 1))
    strides, dilations, pads = window(call, rank)
    extra = call.numbers("output_padding", (0,) * rank)
    weight = weight.reshape(-1, x.shape[1] // groups, *kernel)
    outer = weight.shape[0] // groups
    sizes = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, s, k, d, e in zip(x.shape[2:], strides, kernel, dilations, extra, strict=True)
    ]
    full = np.zeros((x.shape[0], weight.shape[0], *sizes))
    inner = x.shape[1] // groups
    for position in itertools.product(*map(range, kernel)):
        outputs = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(position, dilations, x.shape[2:], strides, strict=True)
        )
        for group in range(groups):
            own = (slice(group * outer, (group + 1) * outer),)
            taps: Any = (*own, slice(None), *position)
            rows = weight[taps]
            part = np.tensordot(rows, x[:, group * inner : (group + 1) * inner], axes=(1, 1))
            target = (slice(None), *own, *outputs)
            full[target] += np.moveaxis(part, 0, 1)
    inside = tuple(slice(pads[i], size - pads[i + rank]) for i, size in enumerate(sizes))
    inner_part = (slice(None), slice(None), *inside)
    return full[inner_part]


@golden("Deconv")
def deconvolve(call: Call) -> Array:
    """Transposed convolution with bias and merged activation."""
    return call.relu(with_bias(transposed(call, call[0], call[1]), call.optional(2)))


def pooled(call: Call, mode: str) -> Array:
    """Greatest number, sum or average of each window."""
    x = call[0]
    rank = x.ndim - 2
    kernel = call.numbers("kernel_shape") or list(x.shape[2:])
    if len(kernel) != rank:
        raise NoGolden(f"{x.ndim} axes and a kernel of {len(kernel)}")
    strides, _, pads = window(call, rank)
    if call.flag("is_adaptive"):
        raise NoGolden("adaptive pooling")
    axes = tuple(range(-rank, 0))
    if call.flag("ceil_mode"):  # only as far as the last window reaches
        for i in range(rank):
            size = x.shape[2 + i] + pads[i] + pads[i + rank] - kernel[i]
            short = -size % strides[i]
            pads[i + rank] += short
    ones = [1] * rank
    if mode == "Max":
        return patches(x, kernel, strides, ones, pads, -np.inf).max(axis=axes)
    total = patches(x, kernel, strides, ones, pads, 0.0).sum(axis=axes)
    if mode == "Sum":
        return total
    if call.flag("count_include_pad"):
        return total / math.prod(kernel)
    return total / patches(np.ones_like(x), kernel, strides, ones, pads, 0.0).sum(axis=axes)


@golden("top.MaxPool", "tpu.MaxPool")
def max_pool(call: Call) -> Array:
    """Greatest number of each window."""
    return call.relu(pooled(call, "Max"))


@golden("top.AvgPool")
def average_pool(call: Call) -> Array:
    """Average of each window."""
    return call.relu(pooled(call, "Avg"))


@golden("tpu.Pool1D", "tpu.Pool2D", "tpu.Pool3D")
def pool(call: Call) -> Array:
    """Pooling by ``pool_mode``."""
    return call.relu(pooled(call, str(call.get("pool_mode", "Max"))))
