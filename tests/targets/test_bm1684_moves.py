"""Moves of BM1684 that change the order, word by word. Source: the answers of the vendor's simulator."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tests.targets.commands import chip_named, command, empty

CHIP = chip_named("BM1684")
LOCAL, LANE = 0x8000000, 512 << 10
RESULT = 16384
"""Offset in a lane of what is moved."""
LANES = {"pio_gdma_enable": 1, "localmem_mask_l32": 0xFFFFFFFF, "localmem_mask_h32": 0xFFFFFFFF}
FROM_DDR = {"src_start_addr_h8": 1, "dst_start_addr_l32": LOCAL + RESULT, "direction": 0, "special_func": 1}


def sizes(side: str, *extents: int) -> dict[str, int]:
    return {f"{side}_{axis}size": extent for axis, extent in zip("nchw", extents, strict=True)}


def strides(side: str, *steps: int) -> dict[str, int]:
    return {f"{side}_{axis}stride": step for axis, step in zip("nchw", steps, strict=True)}


def moved(mnemonic: str, values: dict[str, int], memory: Memory | None = None) -> Memory:
    """Memories after a move; DDR holds the numbers of its words."""
    memory = memory or empty(CHIP)
    for region in memory.regions(Space.GLOBAL):
        region.data.view(np.uint32)[...] = np.arange(region.data.size // 4)
    CHIP.execute(command(CHIP, mnemonic, **LANES, **values), memory)
    return memory


def lane_words(memory: Memory, lane: int, count: int, first: int = 0) -> list[int]:
    words: Array = memory.local()[lane, RESULT : RESULT + 4096].copy().view(np.uint32)
    found: list[int] = words[first : first + count].tolist()
    return found


def test_batches_and_channels_change_places() -> None:
    steps = {"stride_enable": 1, **strides("src", 1000, 100, 10, 1), **strides("dst", 8, 4, 2, 1)}
    memory = moved("dma.trans", {**FROM_DDR, **steps, **sizes("src", 2, 3, 1, 2), **sizes("dst", 3, 2, 1, 2)})
    assert lane_words(memory, 0, 18) == [0, 1, *[0] * 6, 100, 101, *[0] * 6, 200, 201]
    assert lane_words(memory, 1, 18) == [1000, 1001, *[0] * 6, 1100, 1101, *[0] * 6, 1200, 1201]


def test_rows_and_columns_of_a_matrix_change_places() -> None:
    steps = {"stride_enable": 1, "sys_mem_type": 1, **strides("src", 0, 0, 10, 1), **strides("dst", 16, 16, 0, 1)}
    memory = moved("dma.trans", {**FROM_DDR, **steps, **sizes("src", 1, 1, 5, 2), **sizes("dst", 2, 2, 1, 3)})
    assert [lane_words(memory, 0, 3), lane_words(memory, 0, 3, 16)] == [[0, 10, 20], [1, 11, 21]]
    assert [lane_words(memory, 1, 2), lane_words(memory, 1, 2, 16)] == [[30, 40], [31, 41]]


@pytest.mark.parametrize("turned", [0, 1])
def test_without_strides_rows_follow_each_other_and_those_of_a_block_begin_a_line(turned: int) -> None:
    steps = {"sys_mem_type": 1, **strides("src", 0, 0, 100, 1), **strides("dst", 16, 16, 0, 1)}
    extents = (40, 3) if turned else (3, 40)
    given = {**FROM_DDR, **steps, **sizes("src", 1, 1, *extents), **sizes("dst", 3, 2, 1, 38), "special_func": turned}
    memory = moved("dma.trans" if turned else "dma", given)
    matrix = np.arange(120).reshape(extents)
    arranged = matrix.T if turned else matrix
    for row in range(3):
        numbers = arranged[row].tolist()
        assert lane_words(memory, 0, 38, 64 * row) == numbers[:38]
        assert lane_words(memory, 1, 2, 64 * row) == numbers[38:]


def test_a_move_without_elements_moves_nothing() -> None:
    steps = {"stride_enable": 1, **strides("src", 1000, 100, 10, 1), **strides("dst", 8, 4, 2, 1)}
    memory = moved(
        "dma", {**FROM_DDR, "special_func": 0, **steps, **sizes("src", 1, 3, 0, 2), **sizes("dst", 1, 3, 0, 2)}
    )
    assert not memory.local().any()


def swapped(channels: int, columns: int, lanes: tuple[int, int], rows: int, **steps: int) -> Memory:
    """A swap in local memory from one first lane to another; lane i holds 1,000 i and the words after it."""
    memory = empty(CHIP)
    memory.local()[:, :4096] = (1000 * np.arange(64)[:, None] + np.arange(1024)).astype(np.uint32).view(np.uint8)
    source, result = (LOCAL + lane * LANE for lane in lanes)
    places = {"src_start_addr_l32": source, "dst_start_addr_l32": result + RESULT, "direction": 3, "special_func": 5}
    extents = {**sizes("src", 1, channels, rows, columns), **sizes("dst", 1, columns, rows, channels)}
    return moved("dma.cw_trans", {**places, **extents, **steps}, memory)


def test_of_a_swap_in_local_memory_the_first_row_is_moved() -> None:
    steps = {**strides("src", 64, 64, 8, 1), **strides("dst", 64, 64, 8, 1), "stride_enable": 1}
    memory = swapped(3, 4, (0, 0), 2, **steps)
    for lane in range(4):
        assert lane_words(memory, lane, 8) == [lane, 1000 + lane, 2000 + lane, 0, 0, 0, 0, 0]


def test_a_swap_goes_on_from_the_last_lane_to_the_first_one() -> None:
    steps = {**strides("src", 0, 8, 0, 1), **strides("dst", 0, 100, 0, 1), "stride_enable": 1}
    assert lane_words(swapped(4, 2, (62, 0), 1, **steps), 1, 4) == [62001, 63001, 9, 1009]
    assert lane_words(swapped(4, 3, (0, 62), 1, **steps), 0, 4, 100) == [2, 1002, 2002, 3002]


def test_channels_beyond_the_last_lane_follow_at_once_where_no_stride_is_given() -> None:
    assert lane_words(swapped(4, 2, (62, 0), 3), 1, 4) == [62001, 63001, 7, 1007]
    assert lane_words(swapped(4, 3, (0, 62), 3), 0, 4, 12) == [2, 1002, 2002, 3002]
