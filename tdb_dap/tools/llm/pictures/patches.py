"""The host's part of a picture, as in the vendor's programs: its patches, their order, positions and masks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.vision_config import VisionConfig

MASKED = -10000.0
"""The number in masks for patches that are not to be seen."""

_LONGEST_TO_SHORTEST = 200


def fitting_size(height: int, width: int, config: VisionConfig, least: int, most: int) -> tuple[int, int]:
    """Height and width of whole tokens with ``least`` to ``most`` pixels, in nearly the same ratio.

    BadInput for a strip, and for tokens that are larger than ``most``.
    """
    step = config.patch * config.merge
    if max(height, width) > _LONGEST_TO_SHORTEST * min(height, width):
        raise BadInput(
            f"the picture has {width}x{height} pixels; it may be {_LONGEST_TO_SHORTEST} times as long as wide"
        )
    rows, columns = max(step, round(height / step) * step), max(step, round(width / step) * step)
    if rows * columns > most:
        factor = math.sqrt(height * width / most)
        rows, columns = (max(step, math.floor(side / factor / step) * step) for side in (height, width))
    elif rows * columns < least:
        factor = math.sqrt(least / (height * width))
        rows, columns = (math.ceil(side * factor / step) * step for side in (height, width))
    if rows * columns > most:
        raise BadInput(f"a picture of {width}x{height} pixels needs {rows * columns:,}; the net vit takes {most:,}")
    return rows, columns


def patches_of(pixels: Array, config: VisionConfig, mean: Sequence[float], deviation: Sequence[float]) -> Array:
    """Patches, float32 (patches, numbers), of pixels (height, width, channels) from 0 to 255, token by token."""
    height, width, _ = pixels.shape
    scaled = (pixels.astype(np.float32) / np.float32(255) - np.array(mean, np.float32)) / np.array(
        deviation, np.float32
    )
    rows, columns, side = height // config.patch, width // config.patch, config.merge
    tiles = scaled.reshape(rows // side, side, config.patch, columns // side, side, config.patch, -1)
    tiles = tiles.transpose(0, 3, 1, 4, 6, 2, 5)[:, :, :, :, :, None]
    frames = np.repeat(tiles, config.frames, 5)
    return np.ascontiguousarray(frames.reshape(rows * columns, -1), np.float32)


def host_inputs(config: VisionConfig, patches: Array, rows: int, columns: int) -> dict[str, Array]:
    """Inputs of the net by name, without padding.

    ``rows``, ``columns``: of patches.
    """
    positions = _positions(config, rows, columns)
    count = rows * columns
    inputs = {"input_states": patches, "position_ids": positions}
    inputs["full_attn_mask"] = inputs["attention_mask"] = np.zeros((count, count), np.float32)
    if config.window:
        order, windows = _windows(config, rows // config.merge, columns // config.merge)
        by_patch = np.repeat(windows[order], config.unit)
        moved = (order[:, None] * config.unit + np.arange(config.unit)).reshape(-1)
        inputs["input_states"], inputs["position_ids"] = patches[moved], positions[moved]
        inputs["window_attn_mask"] = np.where(by_patch[:, None] == by_patch, 0, MASKED).astype(np.float32)
        inputs["reverse_index"] = np.argsort(order).astype(np.int32)
    if config.side:
        inputs["pos_idx"], inputs["pos_weight"] = _learnt(config, rows, columns)
    return inputs


def padded(name: str, numbers: Array, shape: tuple[int, ...]) -> Array:
    """An input in the net's shape: patches that are not there hold zeros, and no patch sees them.

    BadInput where it is larger.
    """
    is_mask = "mask" in name
    target = np.full(shape, MASKED if is_mask else 0, numbers.dtype)
    into = target.reshape(-1, shape[-1]) if is_mask else target.reshape(shape[0], -1)
    given = numbers.reshape(len(numbers), -1)
    if given.shape[0] > into.shape[0] or given.shape[1] > into.shape[1]:
        raise BadInput(f"{name} of the net vit has the shape {shape}; the picture needs {numbers.shape}")
    into[: given.shape[0], : given.shape[1]] = given
    return target


def positions_around(ids: Array, token: int, rows: int, columns: int, axes: int) -> Array:
    """Positions, int32 (axes, tokens): of text one after the other, of a picture by row and column.

    ``token``: that of the picture, which has ``rows`` times ``columns``. The text after it goes on after the largest.
    """
    if axes == 1:
        return np.arange(len(ids), dtype=np.int32)[None]
    at = np.flatnonzero(ids == token)
    before, after = int(at[0]), len(ids) - int(at[0]) - rows * columns
    row, column = (index.reshape(-1) for index in np.indices((rows, columns)))
    shown = before + np.stack([np.zeros_like(row), row, column])
    rest = before + max(rows, columns) + np.arange(after)
    text = np.arange(before)
    return np.concatenate([np.stack([text] * 3), shown, np.stack([rest] * 3)], 1).astype(np.int32)


def _tokens(config: VisionConfig, numbers: Array, rows: int, columns: int) -> Array:
    """Numbers (rows, columns, ...) of patches in the order of tokens."""
    side = config.merge
    tiles = numbers.reshape(rows // side, side, columns // side, side, -1)
    return tiles.transpose(0, 2, 1, 3, 4).reshape(rows * columns, -1)


def _positions(config: VisionConfig, rows: int, columns: int) -> Array:
    """Row and column of each patch, int32 (patches, 2)."""
    return _tokens(config, np.moveaxis(np.indices((rows, columns), np.int32), 0, -1), rows, columns)


def _windows(config: VisionConfig, rows: int, columns: int) -> tuple[Array, Array]:
    """Tokens in the order of windows, and the window of each token."""
    row, column = (index.reshape(-1) for index in np.indices((rows, columns)))
    windows = row // config.window * -(-columns // config.window) + column // config.window
    return np.argsort(windows, kind="stable"), windows


def _learnt(config: VisionConfig, rows: int, columns: int) -> tuple[Array, Array]:
    """The four learnt positions around each patch, int32 (patches, 4), and their shares, float32 (patches, 4)."""
    ends = []
    for count in (rows, columns):
        at = np.linspace(0, config.side - 1, count, dtype=np.float32)
        low = at.astype(np.int32)
        ends.append((low, np.minimum(low + 1, config.side - 1), at - low))
    (top, bottom, down), (left, right, across) = ends
    index = [row[:, None] * config.side + column[None] for row in (top, bottom) for column in (left, right)]
    share = [one[:, None] * other[None] for one in (1 - down, down) for other in (1 - across, across)]
    places, shares = (_tokens(config, np.stack(one, -1), rows, columns) for one in (index, share))
    return places.astype(np.int32), shares.astype(np.float32)


def spread(inputs: Mapping[str, Array], side: int) -> Array:
    """Share of each learnt position in each patch: equal for indices that stand for the same place."""
    index, share = inputs["pos_idx"].astype(np.int64), inputs["pos_weight"].reshape(inputs["pos_idx"].shape)
    shares = np.zeros((len(index), side * side), np.float32)
    np.add.at(shares, (np.arange(len(index))[:, None], np.clip(index, 0, side * side - 1)), share)
    return shares
