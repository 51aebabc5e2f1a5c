"""Files of arrays that are too large to be held: each array when it is asked for, and never another file's numbers."""

from __future__ import annotations

import multiprocessing
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine import npz
from tdb_dap.engine.machine.npz import LargeNpz, open_npz, read_npz, write_npz
from tdb_dap.errors import BadInput
from tests.command_line import tdb_dap
from tests.conftest import Toy

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
