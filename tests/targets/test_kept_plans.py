"""Plans kept between processes: the next one makes none, and a file that is not ours counts for nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.system import kept_files
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.kernel.records import ElementsRecord
from tdb_dap.targets.plans import kept as kept_plans
from tdb_dap.targets.plans import known, making
from tdb_dap.targets.semantics import SEMANTICS
from tests.targets.commands import chip_named
from tests.targets.test_plans import Bench, requantised

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="plans call the C kernel")


class Program:
    """Some commands, and the memory that they leave, run by a chip that has no plans yet."""

    def __init__(self) -> None:
        commands = [requantised(chip_named("BM1684X"), 0, 4096, res0_h=high)[:2] for high in (16, 8, 4)]
        sizes = [len(descriptor) for _, descriptor in commands]
        kinds = np.array([kind for kind, _ in commands], np.int32)
        starts, cores = np.cumsum([0, *sizes[:-1]]).astype(np.int64), np.zeros(len(commands), np.int16)
        payload = np.frombuffer(b"".join(descriptor for _, descriptor in commands), np.uint8)
        self.commands = EncodedCommands(kinds, starts, cores, payload)

    def run(self) -> bytes:
        chip = replace(chip_named("BM1684X"))
        bench = Bench(chip)
        bench.memory.local(0)[:] = np.random.default_rng(0).integers(0, 256, bench.memory.local(0).shape, np.uint8)
        assert chip.carry_out_some(self.commands, 0, 3, bench.memory) == 3
        return bench.memory.local(0).tobytes()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of commands for which plans are made, in directories that were empty before."""
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setenv(kept_files.SWITCH, "1")
    names: list[str] = []
    make = making.make

    def noted(name: str, *more: Any) -> Any:
        names.append(name)
        return make(name, *more)

    monkeypatch.setattr(known, "make", noted)
    return names


def files(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "plans").glob("*"))


def test_the_next_process_makes_no_plan(made: list[str], tmp_path: Path) -> None:
    program = Program()
    first = program.run()
    assert len(made) == 3
    (file,) = files(tmp_path)
    made.clear()
    assert program.run() == first
    assert not made
    assert files(tmp_path) == [file]
    if os.name == "posix":
        assert (tmp_path / "state" / "tdb-dap" / "plans.key").stat().st_mode & 0o777 == 0o600


def test_what_has_no_plan_is_not_tried_again(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that looks at numbers is refused by each attempt, which takes as long as making a plan."""
    program = Program()
    sub = next(sub for sub in SEMANTICS if sub == ("quant", 1))

    def looks(x: Any) -> Any:
        return x["input"].bits

    monkeypatch.setattr(looks, "__module__", SEMANTICS[sub].__module__)
    monkeypatch.setitem(SEMANTICS, sub, looks)
    for expected in (3, 0):
        made.clear()
        chip = replace(chip_named("BM1684X"))
        assert chip.carry_out_some(program.commands, 0, 3, Bench(chip).memory) == 0
        assert len(made) == expected


def test_a_plan_does_for_tensors_anywhere_in_their_lanes(made: list[str]) -> None:
    chip = replace(chip_named("BM1684X"))
    memory = Bench(chip).memory
    lane = chip.geometry.lane_bytes

    def carry_out(input: int, result: int) -> bool:
        kind, descriptor, _ = requantised(chip, input, result)
        return chip.carry_out(kind, descriptor, 0, memory)

    assert carry_out(0, 4096)
    assert carry_out(4, 4096 + 17)
    assert carry_out(8192 + 20, 16384 + 5)
    assert len(made) == 1
    assert carry_out(lane, lane + 4096)
    assert len(made) == 2, "in other lanes"


def test_forms_without_a_plan_do_not_keep_those_after_them_from_having_one(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network of bfloat16, of which many forms had none, in the same process as one of integers."""
    fails = True

    def make(name: str, *more: Any) -> Any:
        made.append(name)
        if fails:
            raise Unplanned("as if it were of another format")
        return making.make(name, *more)

    monkeypatch.setattr(known, "make", make)
    chip = replace(chip_named("BM1684X"))
    memory = Bench(chip).memory
    of_first, of_second = (
        [requantised(chip, 0, 4096, res0_h=height, res0_w=width)[:2] for height in range(1, 65)] for width in (4, 5)
    )
    assert not any(chip.carry_out(kind, descriptor, 0, memory) for kind, descriptor in of_first)
    assert 16 < len(made) < 32
    fails = False
    planned = [chip.carry_out(kind, descriptor, 0, memory) for kind, descriptor in of_second]
    assert planned[-1]
    assert planned == sorted(planned)


def test_commands_that_are_executed_one_by_one_use_what_is_kept(made: list[str]) -> None:
    program = Program()
    program.run()
    own = program.commands
    chip = replace(chip_named("BM1684X"))
    memory = Bench(chip).memory
    for kept_ones, expected in ((False, 1), (True, 0)):
        made.clear()
        chip = replace(chip_named("BM1684X"))
        if kept_ones:
            chip.recall(own)
        descriptor = own.payload[: own.offsets[1]].tobytes()
        assert chip.carry_out(int(own.kinds[0]), descriptor, 0, memory)
        assert len(made) == expected


def test_what_is_kept_does_not_depend_on_where_tensors_are() -> None:
    def records(address: int) -> bytes:
        call = ElementsRecord(operands=1)
        call.operand[0].data, call.to.data = address, address + 4096
        return kernel.block(1, [(address, 0, 0, 0, 0, 0), (address + 4096, 0, 0, 0, 0, 1)], [call])

    assert records(1 << 20) == records(1 << 30)


def test_a_file_that_is_not_whole_counts_for_nothing(made: list[str], tmp_path: Path) -> None:
    program = Program()
    first = program.run()
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 97)]
    for data in (*damaged, b"", whole[:31], whole[:-1], whole + b"\0", bytes(len(whole))):
        file.write_bytes(data)
        made.clear()
        assert program.run() == first
        assert len(made) == 3
        assert file.read_bytes() == whole, "it is written anew"


def test_a_file_of_another_key_program_build_or_chip_counts_for_nothing(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program()
    program.run()
    key = tmp_path / "state" / "tdb-dap" / "plans.key"
    key.write_bytes(bytes(32))
    made.clear()
    program.run()
    assert len(made) == 3
    (file,) = files(tmp_path)
    monkeypatch.setattr(kept_plans, "_build", lambda: b"another build")
    made.clear()
    program.run()
    assert len(made) == 3
    (other,) = set(files(tmp_path)) - {file}
    other.write_bytes(file.read_bytes())  # renamed by hand: what it is of is part of what is marked
    made.clear()
    program.run()
    assert len(made) == 3


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_key_that_others_can_read_counts_for_nothing(made: list[str], tmp_path: Path) -> None:
    program = Program()
    program.run()
    (tmp_path / "state" / "tdb-dap" / "plans.key").chmod(0o644)
    made.clear()
    program.run()
    assert len(made) == 3


def test_no_plan_is_kept_where_that_is_switched_off_or_cannot_be(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program()
    monkeypatch.setenv(kept_files.SWITCH, "0")
    first = program.run()
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "state").exists()
    monkeypatch.setenv(kept_files.SWITCH, "1")
    (tmp_path / "cache").write_text("a file where the directory should be")
    assert program.run() == first
    assert len(made) == 6


def test_a_function_of_a_plugin_ends_it(made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it computes is not in any file, and a file has no plan for it."""
    program = Program()
    program.run()
    monkeypatch.setitem(SEMANTICS, ("quant", 1), lambda x: np.zeros(x.shape, x.dtype.bits_dtype))
    (file,) = files(tmp_path)
    before = file.read_bytes()
    chip = replace(chip_named("BM1684X"))
    assert chip.carry_out_some(program.commands, 0, 3, Bench(chip).memory) == 0
    assert file.read_bytes() == before


def test_many_writers_leave_one_whole_file(made: list[str], tmp_path: Path) -> None:
    program = Program()
    threads = [Thread(target=program.run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(files(tmp_path)) == 1
    made.clear()
    program.run()
    assert not made


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_is_replaced_and_not_followed(made: list[str], tmp_path: Path) -> None:
    program = Program()
    program.run()
    (file,) = files(tmp_path)
    file.unlink()
    target = tmp_path / "something of the user's"
    target.write_text("precious")
    file.symlink_to(target)
    program.run()
    assert target.read_text() == "precious"
    assert not file.is_symlink()


def test_files_that_were_not_used_make_room(made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache" / "plans"
    folder.mkdir(parents=True)
    for day in range(3):
        (folder / f"{day}.plans").write_bytes(bytes(1000))
        os.utime(folder / f"{day}.plans", (day, day))
    Program().run()
    own = next(path for path in files(tmp_path) if len(path.stem) > 1)
    monkeypatch.setattr(kept_files, "_MOST_BYTES", own.stat().st_size + 1500)
    own.unlink()
    Program().run()
    assert [path.name for path in files(tmp_path) if path != own] == ["2.plans"]
    assert own in files(tmp_path)


def test_a_chip_of_a_plugin_keeps_none(made: list[str], tmp_path: Path) -> None:
    """Its families and rules may be anything."""
    chip = chip_named("BM1684X")
    table = json.loads((Path(kernel.__file__).parents[1] / "isa" / f"{chip.table}.json").read_text())
    own = replace(chip, table=table)
    own.carry_out_some(Program().commands, 0, 3, Bench(own).memory)
    assert not files(tmp_path)
