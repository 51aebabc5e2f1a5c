"""Sampling images between their pixels. All in float32, each sum in the order given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.host.registry import Parameters, host_operation
from tdb_dap.errors import NotSimulated

ZEROS, BORDER, REFLECTION = 0, 1, 2
BILINEAR, NEAREST = 0, 1
TORCHVISION = 2

_ONE, _HALF = np.float32(1), np.float32(0.5)


@host_operation("GRID_SAMPLER", mode=int, padding=int, align_corners=bool)
def sample_grid(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """result[n, c, y, x] = image[n, c] at grid[n, y, x] = (x, y), from -1 to 1 over the image.

    bilinear: (0 + top left + top right + bottom left + bottom right), each pixel times the product of its distances;
    nearest: halves away from zero. Pixels outside count as zero, or the place is moved to the border, or mirrored.
    """
    image, grid = inputs
    n, channels, height, width = image.shape
    x = _pixel(grid[..., 0], width, p)
    y = _pixel(grid[..., 1], height, p)
    result = np.zeros((n, channels, *grid.shape[1:3]), np.float32)
    if p["mode"] == NEAREST:
        columns, rows = (np.copysign(np.floor(np.abs(v) + _HALF), v).astype(np.int64) for v in (x, y))
        corners: list[tuple[Array, Array, Array | None]] = [(rows, columns, None)]
    elif p["mode"] == BILINEAR:
        columns, rows = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
        dx, dy = x - columns.astype(np.float32), y - rows.astype(np.float32)
        tx, ty = _ONE - dx, _ONE - dy
        corners = [
            (rows, columns, tx * ty),
            (rows, columns + 1, dx * ty),
            (rows + 1, columns, tx * dy),
            (rows + 1, columns + 1, dx * dy),
        ]
    else:
        raise NotSimulated(f"CPU_GRID_SAMPLER with the interpolation {p['mode']} is not simulated")
    batch = np.arange(n)[:, None, None]
    for row, column, weight in corners:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        pixels = image[batch, :, row.clip(0, height - 1), column.clip(0, width - 1)]
        part = np.moveaxis(pixels, -1, 1)
        if weight is not None:
            part = part * weight[:, None]
        result = np.where(inside[:, None], result + part, result)
    return [result]


def _pixel(place: Array, size: int, p: Parameters) -> Array:
    """Places from -1 to 1 as pixels, corners at the centres of the outer pixels or at their edges."""
    scale = np.float32(size)
    if p["align_corners"]:
        pixel = ((place + _ONE) * _HALF) * np.float32(size - 1)
        low, high = 0, 2 * (size - 1)
    else:
        pixel = ((place + _ONE) * scale - _ONE) * _HALF
        low, high = -1, 2 * size - 1
    if p["padding"] == ZEROS:
        return pixel
    if p["padding"] == REFLECTION:
        pixel = _mirrored(pixel, low, high)
    elif p["padding"] != BORDER:
        raise NotSimulated(f"CPU_GRID_SAMPLER with the padding {p['padding']} is not simulated")
    return np.minimum(np.float32(size - 1), np.maximum(pixel, np.float32(0)))


def _mirrored(pixel: Array, twice_low: int, twice_high: int) -> Array:
    """Mirrored at half of the bounds until it is between them."""
    if twice_low == twice_high:
        return np.zeros_like(pixel)
    low, span = np.float32(twice_low / 2), np.float32((twice_high - twice_low) / 2)
    distance = np.abs(pixel - low)
    rest = np.fmod(distance, span)
    is_even = np.floor(distance / span).astype(np.int64) % 2 == 0
    return np.where(is_even, rest + low, span - rest + low)


@host_operation("PYTORCH_ROI_ALIGN", height=int, width=int, scale=float, samples=int, align=bool)
def align_regions(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """Per region (batch, x0, y0, x1, y1), cut into height x width bins, the mean of samples x samples places of a bin.

    samples 0: as many as a bin is large. A place is interpolated from its four pixels; further than a pixel outside of
    the image it counts as zero. ``align``: regions are shifted by half a pixel and may be small.
    """
    image, regions = inputs
    _, channels, height, width = image.shape
    result = np.zeros((len(regions), channels, p["height"], p["width"]), np.float32)
    shift = np.float32(0.5 if p["align"] else 0.0)
    scale = np.float32(p["scale"])
    for index, region in enumerate(regions):
        x0, y0, x1, y1 = (np.float32(value) * scale - shift for value in region[1:5])
        extent = [y1 - y0, x1 - x0]
        if not p["align"]:
            extent = [np.maximum(size, _ONE) for size in extent]
        inverse = [np.float32(1.0 / p["height"]), np.float32(1.0 / p["width"])]
        bins = [size * part for size, part in zip(extent, inverse, strict=True)]
        counts = [p["samples"] if p["samples"] > 0 else int(np.ceil(size)) for size in bins]
        rows = _places(y0, bins[0], p["height"], counts[0])
        columns = _places(x0, bins[1], p["width"], counts[1])
        mean = np.float32(1.0 / float(np.float32(counts[0] * counts[1])))
        of_batch = image[int(region[0])]
        total: Array = np.zeros((channels, p["height"], p["width"]), np.float32)
        for iy in range(counts[0]):
            for ix in range(counts[1]):
                total = total + _interpolated(of_batch, rows[:, iy][:, None], columns[:, ix][None, :], height, width)
        result[index] = total * mean
    return [result]


def _places(start: np.float32, size: np.float32, bins: int, count: int) -> Array:
    """Places of the samples of every bin, (bins, count): each the one before plus the step."""
    step = size / np.float32(count) if count else np.float32(0)
    first = start + np.arange(bins, dtype=np.float32) * size + _HALF * step
    steps = np.full((bins, count), step, np.float32)
    if count:
        steps[:, 0] = first
    return np.add.accumulate(steps, axis=1, dtype=np.float32)


def _interpolated(image: Array, y: Array, x: Array, height: int, width: int) -> Array:
    """((w1*a + w2*b) + w3*c) + w4*d of the four pixels around each place, (channels, rows, columns)."""
    outside = (y < -1) | (y > height) | (x < -1) | (x > width)
    y = np.minimum(np.maximum(y, np.float32(0)), np.float32(height - 1))
    x = np.minimum(np.maximum(x, np.float32(0)), np.float32(width - 1))
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    ly, lx = y - top.astype(np.float32), x - left.astype(np.float32)
    hy, hx = _ONE - ly, _ONE - lx
    weighted = (hy * hx) * image[:, top, left] + (hy * lx) * image[:, top, right]
    weighted = weighted + (ly * hx) * image[:, bottom, left]
    weighted = weighted + (ly * lx) * image[:, bottom, right]
    return np.where(outside, np.float32(0), weighted)


_PADS = ("top", "bottom", "left", "right")
_STEPS = ("stride_h", "stride_w", "dilation_h", "dilation_w")
_DEFORM = dict.fromkeys(("groups", "kh", "kw", *_PADS, *_STEPS, "mode"), int)


@host_operation("DEFORM_GATHER", modulated=bool, **_DEFORM)
def gather_deformed(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """The taps of a deformable convolution: result[n, c, ky, kx, y, x] = image[n, c] at the tap's place plus offset.

    Inputs: image, offsets (n, groups*kh*kw*2, y, x) with rows before columns, and if modulated factors
    (n, groups*kh*kw, y, x). The result has the shape (n, c, kh*y, kw*x) and this order in memory.
    """
    if p["mode"] != TORCHVISION:
        raise NotSimulated(f"CPU_DEFORM_GATHER with the mode {p['mode']} is not simulated")
    image, offsets = inputs[0], inputs[1]
    n, channels = image.shape[:2]
    rows, columns = offsets.shape[2:]
    taps = p["kh"] * p["kw"]
    offsets = offsets.reshape(n, p["groups"], taps, 2, rows, columns)
    base_y = (np.arange(rows) * p["stride_h"] - p["top"])[:, None]
    base_x = (np.arange(columns) * p["stride_w"] - p["left"])[None, :]
    result = np.empty((n, channels, taps, rows, columns), np.float32)
    for batch, channel, tap in np.ndindex(n, channels, taps):
        group = channel // (channels // p["groups"])
        ky, kx = divmod(tap, p["kw"])
        y = (base_y + ky * p["dilation_h"]).astype(np.float32) + offsets[batch, group, tap, 0]
        x = (base_x + kx * p["dilation_w"]).astype(np.float32) + offsets[batch, group, tap, 1]
        result[batch, channel, tap] = _with_zero_border(image[batch, channel], y, x)
    if p["modulated"]:
        factors = inputs[2].reshape(n, p["groups"], 1, taps, rows, columns)
        grouped = result.reshape(n, p["groups"], -1, taps, rows, columns)
        result = (grouped * factors).reshape(result.shape)
    return [result.reshape(n, channels, p["kh"] * rows, p["kw"] * columns)]


def _with_zero_border(image: Array, y: Array, x: Array) -> Array:
    """((w1*a + w2*b) + w3*c) + w4*d of the four pixels around each place; pixels outside are zero."""
    height, width = image.shape
    outside = (y <= -1) | (y >= height) | (x <= -1) | (x >= width)
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    ly, lx = y - top.astype(np.float32), x - left.astype(np.float32)
    hy, hx = _ONE - ly, _ONE - lx

    def pixel(row: Array, column: Array) -> Array:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        return np.where(inside, image[row.clip(0, height - 1), column.clip(0, width - 1)], np.float32(0))

    weighted = (hy * hx) * pixel(top, left) + (hy * lx) * pixel(top, left + 1)
    weighted = weighted + (ly * hx) * pixel(top + 1, left)
    weighted = weighted + (ly * lx) * pixel(top + 1, left + 1)
    return np.where(outside, np.float32(0), weighted)
