"""Compressed weights in plans: unpacked once, and again whenever the memory has other bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.plans import unpacking
from tdb_dap.targets.semantics.cv18xx.unpacking import unpacked
from tests.targets.commands import chip_named, ddr_start, encoded
from tests.targets.test_cv18xx_plans import compressed, result

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="plans call the C kernel")

SHAPE = {"dst_c": 9, "dst_h": 3, "dst_w": 5, "dst_n_stride": 2048, "dst_c_stride_low": 32, "dst_h_stride": 10}
COUNT = 135
"""Numbers of a load: channels on all lanes, one of them twice, with gaps between their rows."""
WEIGHTS = [0, 2048, 4096]
"""Bytes in DDR that compressed data begin at; the last ones are bfloat16."""
RESULTS = [0, 4096, 8192]
"""And the numbers of each in the lanes."""


class Bench:
    """Loads of compressed weights, each followed by another command, on a memory."""

    def __init__(self, stores_to: int = 30000) -> None:
        """``stores_to``: the byte in DDR that the first byte of each lane is stored to, after the first load."""
        self.chip: Chip = chip_named("CV181X").leniently()
        self.start = ddr_start(self.chip)
        self.ddr: Array = np.zeros(1 << 15, np.uint8)
        self.memory = Memory(self.chip.geometry, 1, [Region(self.start, self.ddr, "bench")])
        random = np.random.default_rng(5)
        for at, flags in zip(WEIGHTS, (1 << 28, 0, 1 << 29 | 1 << 47), strict=True):
            data = next(self._valid(random, flags))
            self.ddr[at : at + data.size] = data
        store = {"src_c": 8, "src_h": 1, "src_w": 1, "src_n": 1, "src_c_stride_low": 1024, "trans_dir": 1}
        store |= {"dst_c": 8, "dst_h": 1, "dst_w": 1, "dst_c_stride_low": 1, "dst_h_stride": 1, "src_h_stride": 1}
        self.commands = [
            self._load(0),
            encoded(self.chip, "dma.store", **store, dst_base_addr_low=self.start + stores_to, vld=1),
            self._load(1),
            self._load(2),
        ]
        sizes = [len(descriptor) for _, descriptor in self.commands]
        self.every = EncodedCommands(
            np.array([kind for kind, _ in self.commands], np.int32),
            np.cumsum([0, *sizes[:-1]]).astype(np.int64),
            np.zeros(len(sizes), np.int16),
            np.frombuffer(b"".join(descriptor for _, descriptor in self.commands), np.uint8),
        )

    def _valid(self, random: np.random.Generator, flags: int) -> Iterator[Array]:
        while True:
            data = compressed(random, -(-COUNT // 16), flags)
            if isinstance(result(data, COUNT, bool(flags >> 29 & 1)), list):
                yield data

    def _load(self, number: int) -> tuple[int, bytes]:
        formats = {"src_fmt": 2, "dst_fmt": 2} if number == 2 else {"src_fmt": 1, "dst_fmt": 1}
        place = {"src_base_addr_low": self.start + WEIGHTS[number], "dst_base_addr_low": RESULTS[number]}
        return encoded(self.chip, "dma.load", compress_en=1, src_n=1, vld=1, **SHAPE, **formats, **place)

    def state(self) -> list[Array]:
        return [self.ddr.copy(), self.memory.local().copy()]

    def restore(self, state: list[Array]) -> None:
        self.ddr[:], self.memory.local()[:] = state

    def by_themselves(self) -> list[Array]:
        """What each command leaves by itself, without the kernel; the memories are as before."""
        before = self.state()
        with kernel.switched(False):
            for kind, descriptor in self.commands:
                self.chip.execute(self.chip.describe(kind, descriptor, 0, {}), self.memory)
        after = self.state()
        self.restore(before)
        return after

    def run(self, stop: int = 4) -> list[int]:
        """Run the commands together as far as that goes; those that were executed by themselves."""
        reached, alone = 0, list[int]()
        while reached < stop:
            done = self.chip.carry_out_some(self.every, reached, stop, self.memory)
            if done == reached:
                self.chip.execute(self.chip.describe(*self.commands[reached], 0, {}), self.memory)
                alone.append(reached)
                done += 1
            reached = done
        return alone

    def expect(self, alone: list[int]) -> None:
        """The commands together, now, leave what they leave by themselves."""
        expected = self.by_themselves()
        assert self.run() == alone
        for own, found in zip(expected, self.state(), strict=True):
            np.testing.assert_array_equal(found, own)


def test_edits_of_compressed_weights_count_and_so_do_those_that_are_taken_back() -> None:
    bench = Bench()
    before = bench.state()
    bench.expect([])
    first = bench.state()
    for at in (WEIGHTS[0] + 70, WEIGHTS[1] + 33, WEIGHTS[2] + 50):
        bench.restore(before)
        bench.ddr[at] ^= 0x21
        bench.expect([])
        assert not np.array_equal(bench.state()[1], first[1]), "the edit shows"
    bench.restore(before)
    bench.expect([])
    np.testing.assert_array_equal(bench.state()[1], first[1])
    assert bench.run(stop=1) == []


def test_an_edit_between_two_parts_of_a_run_counts() -> None:
    bench = Bench()
    bench.run()
    assert bench.run(stop=2) == []
    bench.ddr[WEIGHTS[1] + 33] ^= 0x21
    expected = bench.by_themselves()
    assert bench.chip.carry_out_some(bench.every, 2, 4, bench.memory) == 4
    np.testing.assert_array_equal(bench.memory.local(), expected[1])


def test_data_that_a_command_writes_are_unpacked_when_it_has_written_them() -> None:
    """Eight bytes of a block that is stored as it is: the numbers of the first load are among those of the second."""
    bench = Bench(stores_to=WEIGHTS[1] + 32)
    before, seen = bench.state(), set[bytes]()
    for change in (0, 1, 2, 1):
        bench.restore(before)
        bench.ddr[WEIGHTS[0] + 36] ^= change
        bench.expect([2])
        seen.add(bench.state()[1].tobytes())
    assert len(seen) == 3


def test_damaged_data_are_refused_as_without_plans() -> None:
    bench = Bench()
    bench.run()
    bench.ddr[WEIGHTS[1] + 3] ^= 1 << 5  # says bfloat16
    assert bench.chip.carry_out_some(bench.every, 0, 4, bench.memory) == 2
    assert bench.chip.carry_out_some(bench.every, 2, 4, bench.memory) == 2
    with pytest.raises(NotSimulated, match="another format"):
        bench.run()


@pytest.mark.parametrize(("more", "text"), [(0, ""), (1, "compressed data of 41 bytes in 40")])
def test_data_that_say_more_bytes_than_there_are_are_refused(more: int, text: str) -> None:
    """Those that say fewer end within a block."""
    data = np.zeros(40, np.uint8)
    data[0] = 40 - 32 + more  # bytes of the stream, after heading and codes
    data[16] = 0  # one block of order 0, 16 bits long: all ones are sixteen zeros
    data[32:34] = 255
    if text:
        with pytest.raises(NotSimulated, match=text):
            unpacked(data, 16, is_float=False)
    else:
        assert not unpacked(data, 16, is_float=False).any()


def test_more_weights_than_are_kept_are_unpacked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_MOST_BYTES", 700)
    bench = Bench()
    for _ in range(3):
        bench.expect([])


def test_two_memories_have_weights_of_their_own() -> None:
    bench = Bench()
    bench.run()
    both = [(bench.memory, bench.ddr)]
    other = bench.ddr.copy()
    other[WEIGHTS[0] + 70] ^= 1
    both.append((Memory(bench.chip.geometry, 1, [Region(bench.start, other, "bench")]), other))
    for bench.memory, bench.ddr in (*both[::-1], both[1]):
        bench.expect([])
    assert not np.array_equal(both[0][0].local(), both[1][0].local())
