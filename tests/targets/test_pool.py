"""Threads that share the parts of commands: what they leave, whoever works on which part, and after whatever."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from tdb_dap.engine.hardware.views import View
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import dot
from tdb_dap.targets.arithmetic.products import of_matrices
from tests.targets.commands import chip_named
from tests.targets.test_planned_windows import drawn as windows_drawn
from tests.targets.test_plans import Bench, requantised

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason=kernel.describe())


def carried_out(bench: Bench) -> NDArray[np.uint8]:
    """Local memory after one command, from the same bytes each time."""
    chip = chip_named("BM1684X")
    kind, descriptor, _ = requantised(chip, 0, 4096)
    bench.memory.local(0)[:] = np.random.default_rng(0).integers(0, 256, bench.memory.local(0).shape, np.uint8)
    assert chip.carry_out(kind, descriptor, 0, bench.memory)
    return bench.memory.local(0).copy()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_so_many_threads_leave_what_one_does(threads: int) -> None:
    bench = Bench(chip_named("BM1684X"))
    with kernel.shared(1, worth=1):
        expected = carried_out(bench)
    with kernel.shared(threads, worth=64):
        for _ in range(20):
            assert np.array_equal(carried_out(bench), expected)


def test_threads_that_sleep_are_woken() -> None:
    bench = Bench(chip_named("BM1684X"))
    with kernel.shared(3, worth=64):
        expected = carried_out(bench)
        time.sleep(0.05)  # they have given up waiting
        assert np.array_equal(carried_out(bench), expected)


def test_two_sessions_at_once_do_not_take_each_other_s_work() -> None:
    """One has the threads, the other works alone meanwhile."""
    benches = [Bench(chip_named("BM1684X")) for _ in range(2)]
    expected = carried_out(benches[0])
    wrong: list[int] = []

    def session(number: int) -> None:
        for _ in range(30):
            if not np.array_equal(carried_out(benches[number]), expected):
                wrong.append(number)

    with kernel.shared(2, worth=64):
        sessions = [threading.Thread(target=session, args=(number,)) for number in range(2)]
        for each in sessions:
            each.start()
        for each in sessions:
            each.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no copies of processes on this system")
def test_a_copy_of_the_process_has_threads_of_its_own() -> None:
    """In a process of its own: a copy of one that has other threads may hang for other reasons."""
    program = textwrap.dedent(
        """
        import os
        import numpy as np
        from tdb_dap.targets import kernel
        from tests.targets.commands import chip_named
        from tests.targets.test_plans import Bench
        from tests.targets.test_pool import carried_out

        bench = Bench(chip_named("BM1684X"))
        with kernel.shared(3, worth=64):
            expected = carried_out(bench)
            child = os.fork()
            is_same = np.array_equal(carried_out(bench), expected)
            if not child:
                os._exit(0 if is_same else 1)
            assert is_same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_parts_are_of_some_size() -> None:
    with pytest.raises(ValueError, match="0 threads"), kernel.shared(0, worth=1):
        pass


@pytest.mark.parametrize("place", [(0, 0), (7, 100)], ids=["first", "inside"])
def test_long_windows_with_a_nan_are_left_to_the_usual_way(
    place: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which NaN comes out is not known to a plan: that holds for windows that can be interrupted, too."""
    monkeypatch.setattr(kernel, "_PART", 1)
    chip, random = chip_named("BM1684X"), np.random.default_rng(0)
    cases = [case for case, _ in windows_drawn("BM1684X") if case.name in ("pord.avgpooling", "pord.depthwise")]
    seen = 0
    for case in cases:
        (result,) = case.description.results
        image = case.description.reads[0]
        if not (isinstance(result, View) and isinstance(image, View) and image.dtype.name == "f32"):
            continue
        bench = Bench(chip)
        bench.fill(case.description, random, "finite")
        if math.prod(result.shape[2:]) < 2 or not chip.carry_out(
            case.kind, case.descriptor, 0, bench.memory, case.registers
        ):
            continue
        words = bench.memory.read(image).copy()
        words.reshape(-1)[-1 if place[0] else 0] = 0x7FC00000
        bench.memory.write(image, words)
        chip.execute(case.description, bench.memory)
        expected = np.isnan(result.dtype.widen(bench.memory.read(result))).any()
        seen += bool(expected)
        if expected:
            assert not chip.carry_out(case.kind, case.descriptor, 0, bench.memory, case.registers), case.description
    assert seen


def test_threads_that_end_leave_no_memory_behind() -> None:
    """As many blocks are kept as there are places, whoever has used them."""
    resource = pytest.importorskip("resource")
    left = np.ones((8, 20_000), np.float32)
    products = of_matrices(left, np.ones((20_000, 64), np.float32))

    def work() -> None:
        dot.interleaved(None, None, products)

    def after(count: int) -> int:
        for _ in range(count):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        most: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most

    before = after(40)
    assert after(80) - before < 40_000, "kilobytes; 80 blocks are 100,000"
