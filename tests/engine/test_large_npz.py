"""Files of arrays that are too large to be held: each array when it is asked for, and never another file's numbers."""

from __future__ import annotations

import multiprocessing
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine import npz, npz_members
from tdb_dap.engine.machine.npz import LargeNpz, open_npz, read_npz, write_npz
from tdb_dap.engine.reference.reference import Reference
from tdb_dap.errors import BadInput
from tdb_dap.tools.programs import open_program
from tests.command_line import tdb_dap
from tests.conftest import Toy
from tests.samples import DATA

Save = Callable[..., None]


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "AT_ONCE", 0)
    monkeypatch.setattr(npz, "_KEPT", 3000)


def some() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    arrays = {f"t{number}": random.standard_normal((number + 1, 50)).astype(np.float32) for number in range(9)}
    return {**arrays, "by column": np.asfortranarray(arrays["t8"]), "empty": np.zeros((0, 3)), "one": np.array(7)}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_those_of_the_file_in_any_order(save: Save, tmp_path: Path) -> None:
    save(tmp_path / "r.npz", **some())
    found, wanted = open_npz(tmp_path / "r.npz"), read_npz(tmp_path / "r.npz")
    assert isinstance(found, LargeNpz)
    assert (list(found), len(found)) == (list(wanted), len(wanted))
    assert {name: array.dtype for name, array in wanted.items()} == found.dtypes
    names = [*wanted, *reversed(wanted), *wanted]
    for name in names:
        np.testing.assert_array_equal(found[name], wanted[name])
        assert found[name].dtype == wanted[name].dtype
        assert not found[name].flags.writeable
    assert found["t8"] is found["t8"], "the last one is kept"
    assert sum(array.nbytes for array in found._kept.values()) <= 3000
    assert "t8" in found
    assert "nothing" not in found
    with pytest.raises(KeyError):
        found["nothing"]


def test_a_small_file_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "AT_ONCE", 1 << 20)
    write_npz(tmp_path / "r.npz", some())
    assert isinstance(open_npz(tmp_path / "r.npz"), dict)


@pytest.mark.parametrize("place", ["header", "numbers", "directory", "objects"])
def test_what_is_damaged_is_known_when_it_is_opened(place: str, tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    last = np.array([object()]) if place == "objects" else np.arange(3)
    np.savez(path, np.arange(5000), last)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.infolist()[0].header_offset
    at = {"header": start + 60, "numbers": start + 20_000, "directory": len(data) - 30}.get(place)
    if at is not None:
        data[at] ^= 0xFF
        path.write_bytes(data)
    with pytest.raises(BadInput, match=r"r\.npz: cannot be read as an npz file"):
        open_npz(path)


@pytest.mark.parametrize("how", ["rewritten", "replaced", "shortened", "removed"])
def test_a_file_that_changes_is_not_believed(how: str, tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    np.savez(path, a=np.arange(5000), b=np.arange(5000))
    found = open_npz(path)
    before = found["a"]
    if how == "replaced":
        np.savez(tmp_path / "new.npz", a=np.arange(5000) + 1, b=np.arange(5000) + 1)
        (tmp_path / "new.npz").replace(path)
    elif how == "rewritten":
        np.savez(path, a=np.arange(5001), b=np.arange(5000))
    elif how == "shortened":
        path.write_bytes(path.read_bytes()[:40_000])
    else:
        path.unlink()
    with pytest.raises(BadInput, match=r"r\.npz: (has been changed while it was in use; begin again|cannot be read)"):
        found["b"]
    np.testing.assert_array_equal(before, np.arange(5000))


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not copied there")
def test_copies_of_a_process_read_by_themselves(tmp_path: Path) -> None:
    arrays = {f"t{number}": np.full(100_000, number) for number in range(8)}
    write_npz(tmp_path / "r.npz", arrays)
    found = open_npz(tmp_path / "r.npz")
    _shared.append(found)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(_all_right, range(8)) == [True] * 8
    assert all(int(found[name][0]) == int(array[0]) for name, array in arrays.items())


_shared: list[Mapping[str, Array]] = []


def _all_right(number: int) -> bool:
    return all((_shared[-1][f"t{(number + turn) % 8}"] == (number + turn) % 8).all() for turn in range(16))


@pytest.mark.parametrize("mode", ["cascade", "standalone"])
def test_a_check_says_the_same_of_a_large_reference(
    toy: Toy, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with np.load(toy.reference) as archive:
        arrays = dict(archive)
    arrays["conv8_Conv"][0, 3] *= -1
    np.savez(tmp_path / "wrong.npz", **arrays)
    words = ("check", toy.directory, "--inputs", toy.inputs, "--reference", tmp_path / "wrong.npz", "--mode", mode)
    lazily = tdb_dap(*words)
    monkeypatch.setattr(npz, "AT_ONCE", 1 << 30)
    assert (lazily.returncode, lazily.stdout) == (1, tdb_dap(*words).stdout)


# Parts


class Counting:
    """A file that knows how much was read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.taken = 0

    def seek(self, *place: int) -> int:
        return self.file.seek(*place)

    def read(self, size: int) -> bytes:
        part = self.file.read(size)
        self.taken += len(part)
        return part

    def readinto(self, target: memoryview) -> int:
        count = self.file.readinto(target)  # type: ignore[attr-defined]
        self.taken += count
        return int(count)


PARTS = [
    (slice(0, 1), slice(3, 9), slice(0, 5), slice(0, 64), slice(0, 64)),
    (slice(1, 2), slice(0, 32), slice(2, 3), slice(10, 20), slice(0, 64)),
    (slice(0, 2), slice(31, 32), slice(4, 5), slice(63, 64), slice(7, 9)),
    (slice(0, 2), slice(0, 32), slice(0, 5), slice(0, 64), slice(0, 64)),
    (slice(1, 1), slice(0, 32), slice(0, 5), slice(0, 64), slice(0, 64)),
]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("index", PARTS)
def test_a_part_is_that_of_the_whole(
    save: Save, index: tuple[slice, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npz_members, "_BLOCK", 10_000)
    monkeypatch.setattr(npz_members, "_APART", 50_000)
    whole = np.random.default_rng(1).standard_normal((2, 32, 5, 64, 64)).astype(np.float32)
    save(tmp_path / "r.npz", a=whole.reshape(64, -1), f=np.asfortranarray(whole.reshape(64, -1)))
    found = open_npz(tmp_path / "r.npz")
    assert isinstance(found, LargeNpz)
    np.testing.assert_array_equal(found.part("a", whole.shape, index), whole[index])
    np.testing.assert_array_equal(found.part("f", whole.shape, index), whole[index])
    np.testing.assert_array_equal(found["a"], whole.reshape(64, -1))
    with pytest.raises(ValueError, match="shape"):
        found.part("a", (1, *whole.shape[1:]), index)


@pytest.mark.parametrize(("save", "most"), [(np.savez, 1), (np.savez_compressed, 12)])
def test_of_a_large_array_only_the_part_that_is_asked_for_is_read(save: Save, most: int, tmp_path: Path) -> None:
    """40 MB, of which 1 MB is asked for; what is packed is unpacked from the last of the points that were kept."""
    whole = np.random.default_rng(1).standard_normal((40, 1 << 18), np.float32)
    save(tmp_path / "r.npz", a=whole)
    found = open_npz(tmp_path / "r.npz")
    assert isinstance(found, LargeNpz)
    member = found._members["a"]
    assert isinstance(member, npz_members.Member)
    file = Counting(found._file)
    part = member.part(file, whole.shape, (slice(33, 34), slice(0, 1 << 18)))  # type: ignore[arg-type]
    np.testing.assert_array_equal(part, whole[33:34])
    assert (1 << 20) * 0.9 < file.taken <= most << 20


def test_a_slice_is_compared_without_the_rest_of_the_tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = DATA / "contexts" / "sliced_int8"
    program = open_program(model)
    values = [v for record in program.source.records for v in record.results if v.slices is not None and v.reshape]
    random = np.random.default_rng(2)
    arrays = {v.name: random.standard_normal(v.reshape).astype(np.float32) for v in values}
    write_npz(tmp_path / "r.npz", arrays)
    monkeypatch.setattr(npz, "_SMALL", 0)
    held = Reference([tmp_path], [arrays])
    large = open_npz(tmp_path / "r.npz")
    monkeypatch.setattr(LargeNpz, "__getitem__", lambda self, name: pytest.fail("read whole"))
    lazy = Reference([tmp_path], [large])
    assert values
    for value in values:
        expected, found = held.expected(value), lazy.expected(value)
        assert (expected is None) == (found is None)
        if expected is not None and found is not None:
            np.testing.assert_array_equal(found, expected)


def test_of_the_names_of_a_program_one_that_the_file_knows_is_enough(tmp_path: Path) -> None:
    write_npz(tmp_path / "r.npz", some())
    reference = Reference([tmp_path / "r.npz"], [open_npz(tmp_path / "r.npz")])
    names = iter(["nobody", "t3", "t4", "t5"])
    reference.check_names(names)
    assert list(names) == ["t4", "t5"]
    np.savez(tmp_path / "c.npz", t1=np.zeros(3), t4=np.zeros(3, complex))
    odd = Reference([tmp_path / "c.npz"], [open_npz(tmp_path / "c.npz")])
    odd.check_names(["t1", "t2"])
    with pytest.raises(BadInput, match="t4: complex128 cannot be compared"):
        odd.check_names(["t1", "t4"])


@pytest.mark.parametrize("place", ["header", "numbers"])
def test_what_is_damaged_is_said_the_same_when_it_is_looked_for_later(place: str, tmp_path: Path) -> None:
    """The first array that is damaged counts, wherever it is."""
    path = tmp_path / "r.npz"
    np.savez(path, **{f"t{number}": np.full(5000, number, np.float64) for number in range(1, 6)})  # type: ignore[arg-type]
    data = bytearray(path.read_bytes())
    data[data.index(np.full(9, 2.0).tobytes())] ^= 1
    if place == "header":
        data[data.index(b"\x93NUMPY", data.index(b"t4.npy"))] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadInput) as at_once:
        LargeNpz(path)
    assert "t2.npy" in str(at_once.value)
    if place == "header":
        with pytest.raises(BadInput) as later:
            LargeNpz(path, defers=True)
    else:
        found = LargeNpz(path, defers=True)
        np.testing.assert_array_equal(found["t5"], np.full(5000, 5.0))
        asked_for: tuple[Callable[[], object], ...] = (
            lambda: found["t2"],
            lambda: found.part("t2", (5000,), (slice(4999, 5000),)),
        )
        for ask in asked_for:
            with pytest.raises(BadInput) as asked:
                ask()
            assert str(asked.value) == str(at_once.value)
        with pytest.raises(BadInput) as later:
            found.verify()
    assert str(later.value) == str(at_once.value)


def test_whether_numbers_fit_is_known_without_reading_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = DATA / "contexts" / "sliced_int8"
    program = open_program(model)
    values = [v for record in program.source.records for v in (*record.operands, *record.results)]
    shapes = {v.name: v.reshape or v.shape for v in values}
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    names = list(arrays)
    arrays[names[0]] = np.zeros((3, 5), np.float32)  # another size
    del arrays[names[-1]]
    write_npz(tmp_path / "r.npz", arrays)
    reference = Reference([tmp_path], [LargeNpz(tmp_path / "r.npz")])
    expected = [reference.expected(v) for v in values]
    wanted = [
        array is not None and v.view is not None and v.view.size == array.size
        for v, array in zip(values, expected, strict=True)
    ]
    assert set(wanted) == {True, False}
    monkeypatch.setattr(LargeNpz, "_read", lambda *_: pytest.fail("read"))
    monkeypatch.setattr(npz_members.Member, "part", lambda *_: pytest.fail("read"))
    assert [reference.fits(v) for v in values] == wanted
