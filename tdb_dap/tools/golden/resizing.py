"""Goldens of resizing and sampling at computed places."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden


def _sources(extent: int, size: int, factor: float, mode: str) -> Array:
    """Places that each of ``extent`` numbers comes from, among ``size``."""
    places = np.arange(extent, dtype=np.float64)
    if mode == "align_corners":
        return places * ((size - 1) / (extent - 1) if extent > 1 else 0.0)
    if mode in ("half_pixel", "pytorch_half_pixel"):
        if mode == "pytorch_half_pixel" and extent == 1:
            return np.zeros(1)
        return (places + 0.5) / factor - 0.5
    return places / factor


def _along(x: Array, axis: int, places: Array, mode: str) -> Array:
    size = x.shape[axis]
    if mode == "nearest":
        return np.take(x, np.clip(np.floor(places).astype(np.int64), 0, size - 1), axis=axis)
    places = np.clip(places, 0, size - 1)
    low = np.floor(places).astype(np.int64)
    share = (places - low).reshape(-1, *[1] * (x.ndim - 1 - axis))
    return np.take(x, low, axis=axis) * (1 - share) + np.take(x, np.minimum(low + 1, size - 1), axis=axis) * share


@golden("Interp")
def interpolate(call: Call) -> Array:
    """Images of another size, by the nearest number or linearly."""
    x, mode = call[0], str(call.get("mode", "nearest"))
    shape = call.result.shape if call.result is not None else None
    if shape is None:
        factors = [call.number(name) for name in ("scale_h", "scale_w")]
        if x.ndim != 4 or min(factors) <= 0:
            raise NoGolden("the shape of the result is not known")
        shape = (*x.shape[:2], *(int(extent * factor) for extent, factor in zip(x.shape[2:], factors, strict=True)))
    if mode not in ("nearest", "linear"):
        raise NoGolden(f"mode {mode}")
    coordinates = str(call.get("coord_mode", "half_pixel"))
    for axis, name in ((2, "scale_h"), (3, "scale_w")):
        extent = shape[axis]
        factor = call.number(name, -1)
        factor = factor if factor > 0 else extent / x.shape[axis]
        places = _sources(extent, x.shape[axis], factor, coordinates)
        if mode == "nearest" and coordinates != "asymmetric":
            places = np.ceil(places - 0.5)
        x = _along(x, axis, places, mode)
    return x


@golden("GridSampler")
def sample(call: Call) -> Array:
    """Numbers of images at the places of a grid of (x, y) from -1 to 1, linearly; 0 outside."""
    x, grid = call[0], call[1]
    if call.number("mode") or call.number("padding_mode") or x.ndim != 4:
        raise NoGolden("another mode than linear with zeros around, on images")
    n, c, h, w = x.shape
    if call.flag("align_corners"):
        places = [(grid[..., 0] + 1) / 2 * (w - 1), (grid[..., 1] + 1) / 2 * (h - 1)]
    else:
        places = [((grid[..., 0] + 1) * w - 1) / 2, ((grid[..., 1] + 1) * h - 1) / 2]
    left, top = (np.floor(place).astype(np.int64) for place in places)
    total = np.zeros((n, c, *grid.shape[1:3]))
    for dy in (0, 1):
        for dx in (0, 1):
            column, row = left + dx, top + dy
            share = (1 - np.abs(places[0] - column)) * (1 - np.abs(places[1] - row))
            inside = (column >= 0) & (column < w) & (row >= 0) & (row < h)
            for image in range(n):
                values = x[image][:, np.clip(row[image], 0, h - 1), np.clip(column[image], 0, w - 1)]
                total[image] += values * (share * inside)[image]
    return total


@golden("RoiAlign")
def align_regions(call: Call) -> Array:
    """Averages of bilinear samples in a grid of cells over each region; regions: [number of the image, x, y, x, y]."""
    if call.get("mode", "Avg") != "Avg":
        raise NoGolden(f"mode {call.get('mode')}")
    x, regions = call[0], call[1].reshape(-1, 5)
    cells = int(call.number("output_height")), int(call.number("output_width"))
    shift = 0.5 if call.flag("align_corners") else 0.0
    ratio, scale = int(call.number("sampling_ratio")), call.number("spatial_scale", 1)
    aligned = np.zeros((len(regions), x.shape[1], *cells))
    for number, region in enumerate(regions):
        left, top, right, bottom = region[1:] * scale - shift
        weights = []
        for start, stop, count, extent in (
            (top, bottom, cells[0], x.shape[2]),
            (left, right, cells[1], x.shape[3]),
        ):
            size = stop - start if shift else max(stop - start, 1.0)
            samples = ratio if ratio > 0 else max(1, int(np.ceil(size / count)))
            at = start + (np.arange(count * samples) + 0.5) * size / (count * samples)
            weights.append(_linear_weights(at, extent).reshape(count, samples, extent).mean(axis=1))
        aligned[number] = np.einsum("ph,chw,qw->cpq", weights[0], x[int(region[0])], weights[1])
    return aligned


def _linear_weights(at: Array, extent: int) -> Array:
    """Row by row the weights of the elements that a sample is between; none further than one outside."""
    inside = (at >= -1) & (at <= extent)
    at = np.clip(at, 0, extent - 1)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, extent - 1)
    weights = np.zeros((at.size, extent))
    rows = np.arange(at.size)
    np.add.at(weights, (rows, below), 1 - (at - below))
    np.add.at(weights, (rows, above), at - below)
    return weights * inside[:, None]
