"""Pictures of tensors: slices from afar, channels side by side."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.expressions.planes import Mosaic, Slice, tile
from tdb_dap.errors import BadExpression
from tests.engine.test_tensor_parts import of

RANDOM = np.random.default_rng(7)


def test_an_overview_reads_in_bands_and_shows_each_block_by_its_largest_magnitude() -> None:
    numbers = RANDOM.standard_normal((3000, 4000)).astype(np.float32)
    numbers[1234, 2345] = -50
    parts, sizes = of(numbers)
    far = tile(parts, Slice(0, 1, (0, 0)), slice(0, 3000), slice(0, 4000), 64)
    assert far.shape == (47, 63)
    assert far[1234 // 64, 2345 // 64] == -50
    for row, column in ((0, 0), (46, 62), (46, 3), (7, 62)):
        block = numbers[row * 64 : row * 64 + 64, column * 64 : column * 64 + 64].reshape(-1)
        assert far[row, column] == block[np.abs(block).argmax()]
    assert max(sizes) <= 1 << 20


def test_the_least_integer_has_the_largest_magnitude() -> None:
    parts, _ = of(np.array([[-128, 127], [0, 1]], np.int8))
    assert tile(parts, Slice(0, 1, (0, 0)), slice(0, 2), slice(0, 2), 2).tolist() == [[-128]]


def laid(numbers: np.ndarray, across: int) -> np.ndarray:
    """Channels, rows, columns as one picture, zeros where there is no channel."""
    channels, rows, columns = numbers.shape
    lines = -(-channels // across)
    whole = np.zeros((lines * rows, across * columns), numbers.dtype)
    for channel in range(channels):
        line, place = divmod(channel, across)
        whole[line * rows : (line + 1) * rows, place * columns : (place + 1) * columns] = numbers[channel]
    return whole


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("across", [1, 3, 5, 7, 11])
def test_channels_lie_side_by_side_wherever_their_axis_is(axes: tuple[int, int, int], across: int) -> None:
    channels, rows, columns = axes
    numbers = RANDOM.standard_normal((7, 4, 6)).astype(np.float32)
    whole = laid(numbers, across)
    parts, _ = of(np.moveaxis(numbers, (0, 1, 2), axes)[None])
    mosaic = Mosaic(rows + 1, columns + 1, channels + 1, across, (0, 0, 0, 0))
    mosaic.check(parts.shape)
    assert mosaic.extents(parts.shape) == whole.shape
    for _ in range(20):
        top, bottom = sorted(RANDOM.choice(whole.shape[0] + 1, 2, replace=False).tolist())
        left, right = sorted(RANDOM.choice(whole.shape[1] + 1, 2, replace=False).tolist())
        found = tile(parts, mosaic, slice(top, bottom), slice(left, right))
        assert np.array_equal(found, whole[top:bottom, left:right])


def test_a_part_of_one_channel_reads_no_more_than_that() -> None:
    parts, sizes = of(np.zeros((8, 100, 200), np.float32))
    tile(parts, Mosaic(1, 2, 0, 4, (0, 0, 0)), slice(110, 120), slice(205, 305))
    assert sizes == [10 * 100]


def test_from_afar_a_mosaic_shows_its_largest_magnitudes() -> None:
    numbers = RANDOM.standard_normal((16, 32, 32)).astype(np.float32)
    numbers[5, 3, 4] = 99
    parts, _ = of(numbers)
    far = tile(parts, Mosaic(1, 2, 0, 4, (0, 0, 0)), slice(0, 128), slice(0, 128), 8)
    assert far[(32 + 3) // 8, (32 + 4) // 8] == 99


@pytest.mark.parametrize(
    ("mosaic", "why"),
    [
        (Mosaic(1, 2, 1, 2, (0, 0, 0)), "channels must be an axis from 0 to 2 besides rows and columns, not 1"),
        (Mosaic(1, 2, 3, 2, (0, 0, 0)), "channels must be an axis"),
        (Mosaic(1, 2, 0, 0, (0, 0, 0)), "across must be at least 1, not 0"),
        (Mosaic(1, 1, 0, 2, (0, 0, 0)), "different axes"),
    ],
)
def test_what_is_no_mosaic_is_said(mosaic: Mosaic, why: str) -> None:
    with pytest.raises(BadExpression, match=why):
        mosaic.check((4, 5, 6))
