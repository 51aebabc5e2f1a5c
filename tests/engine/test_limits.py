"""Files that would fill the memory, or run a program, if one believed them. Each is refused in one line that says why.

The sessions run in a process that may take one gigabyte, which none of the files would fit into.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import flatbuffers
import numpy as np
import pytest

from tdb_dap.engine.bmodel import Bmodel, schema
from tdb_dap.engine.bmodel.metadata import read_metadata
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.files.flat_buffer import Block, Table
from tdb_dap.engine.machine.npz import read_npy, read_npz
from tdb_dap.errors import BadInput
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import open_program
from tests.samples import SAMPLE

MODEL = lzma.decompress((SAMPLE / "compilation.bmodel.xz").read_bytes())
METADATA_SIZE = int.from_bytes(MODEL[8:12], "little")
MEMORY = 1 << 30

needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="the system does not bound a process's memory")


def run_in_one_gigabyte(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in a process that is not given more memory."""
    return subprocess.run(
        [sys.executable, "-m", "tdb_dap", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        # Threads of a linear algebra library reserve memory that they do not use.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a refused command ends with."""
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("tdb-dap: error: ")


def xz_bomb(path: Path, gigabytes: int) -> Path:
    """Zeros, packed: about 10 kB for every 64 MB, one behind the other."""
    path.write_bytes(_packed_zeros() * (16 * gigabytes))
    return path


@cache
def _packed_zeros() -> bytes:
    return lzma.compress(bytes(64 << 20), preset=1)


def context(folder: Path, **files: Callable[[Path], object]) -> Path:
    """A copy of the sample; ``files`` write other ones in place of some of it."""
    for name in ("compilation.bmodel.xz", "final.mlir", "tensor_location.json.xz"):
        (folder / name).write_bytes((SAMPLE / name).read_bytes())
    for name, write in files.items():
        write(folder / {"model": "compilation.bmodel.xz", "locations": "tensor_location.json.xz"}[name])
    return folder


@needs_limits
@pytest.mark.parametrize("name", ["compilation.bmodel.xz", "tensor_location.json.xz", "final.mlir.xz"])
def test_a_packed_file_cannot_fill_the_memory(tmp_path: Path, name: str) -> None:
    folder = context(tmp_path)
    (folder / name.removesuffix(".xz")).unlink(missing_ok=True)
    bomb = xz_bomb(folder / name, 2)
    assert bomb.stat().st_size < 1 << 20
    said = refused(run_in_one_gigabyte("info", str(folder)))
    assert said == f"{bomb}: unpacks to more than 256 MiB; unpack it to a file first\n"


def test_files_packed_one_after_another_are_one(tmp_path: Path) -> None:
    path = tmp_path / "two.xz"
    path.write_bytes(lzma.compress(b"one, ") + lzma.compress(b"two"))
    assert read_file(path) == b"one, two"
    path.write_bytes(lzma.compress(b"one")[:-4])
    with pytest.raises(BadInput, match=r"two\.xz: damaged \.xz file \(it ends too early\)"):
        read_file(path)


def test_a_packed_file_cannot_ask_for_gigabytes_to_unpack_it(tmp_path: Path) -> None:
    path = tmp_path / "final.mlir.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    path.write_bytes(lzma.compress(b"module", filters=filters))
    with pytest.raises(BadInput, match=r"damaged \.xz file \(Memory usage limit exceeded\)"):
        read_file(path)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    endless = tmp_path / "final.mlir"
    endless.symlink_to("/dev/zero")
    with pytest.raises(BadInput, match=r"final\.mlir: cannot be read: not a file"):
        read_file(endless)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(BadInput, match="pipe: cannot be read: not a file"):
        read_file(pipe)


def npy_of(shape: tuple[int, ...], descr: str = "<f4", data: bytes = b"") -> bytes:
    """An npy file whose header says whatever it likes."""
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npz_of(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


@needs_limits
def test_an_npz_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "input.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("data.npy", npy_of((3 << 28,)) + bytes(64 << 20))
        archive.filelist[0].file_size = 3 << 30  # as if there were more of it: packing that takes long
    assert path.stat().st_size < 4 << 20
    said = refused(run_in_one_gigabyte("run", str(SAMPLE), "--inputs", str(path)))
    assert said.startswith(f"{path}: unpacks to 3,221,225,")
    assert "the limit for a file of its size; save it without compression" in said


@pytest.mark.parametrize(
    ("npy", "why"),
    [
        (npy_of((1 << 60,)), "announces shape [1152921504606846976] of float32, and it has"),
        (npy_of((1 << 40, 1 << 40), data=bytes(64)), "announces shape [1099511627776, 1099511627776] of float32"),
        (npy_of((-1, 4), data=bytes(64)), "announces shape [-1, 4]"),
        (npy_of((1 << 62,), "|V0"), "announces shape"),
        (npy_of((16,), data=bytes(64))[:-1], "announces shape [16] of float32"[:9]),
        (npy_of((2,), "|O", pickle.dumps(["a", "b"])), "holds Python objects, which are not read"),
        (b"\x93NUMPY\x09\x00" + bytes(20), "version 9.0 of the format is not known"),
        (b"no array", "magic string is not correct"),
        (b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000, "EOF in multi-line statement"),
    ],
)
def test_arrays_that_say_what_is_not_true(tmp_path: Path, npy: bytes, why: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_npz(npz_of(tmp_path / "input.npz", data=npy))
    text = str(refusal.value)
    assert text.startswith(f"{tmp_path / 'input.npz'}: cannot be read as an npz file: 'data.npy': ")
    assert why in text
    assert "\n" not in text
    (tmp_path / "weight.npy").write_bytes(npy)
    with pytest.raises(BadInput, match=r"weight\.npy: cannot be read as an npy file: "):
        read_npy(tmp_path / "weight.npy")


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_what_numpy_reads(tmp_path: Path, order: Literal["C", "F"]) -> None:
    arrays: dict[str, Any] = {
        "a": np.asarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4), order=order),
        "b": np.zeros((0, 4), np.int8),
        "c": np.array(7.5),
        "d": np.array("text"),
        "e": np.arange(5, dtype=">u2"),
    }
    np.savez(tmp_path / "x.npz", **arrays)
    found = read_npz(tmp_path / "x.npz")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()
        assert found[name].shape == array.shape
    buffer = io.BytesIO()
    np.save(buffer, arrays["a"])
    (tmp_path / "a.npy").write_bytes(buffer.getvalue())
    assert np.array_equal(read_npy(tmp_path / "a.npy"), arrays["a"])


def test_nothing_is_executed(tmp_path: Path) -> None:
    """No array of objects is loaded, in whatever command it is given."""

    class Program:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "executed",)

    np.savez(tmp_path / "input.npz", data=np.array([Program()], dtype=object))
    for option in ("--inputs", "--reference"):
        done = subprocess.run(
            [sys.executable, "-m", "tdb_dap", "run", str(SAMPLE), option, str(tmp_path / "input.npz"), "--quiet"],
            capture_output=True,
            text=True,
        )
        assert "holds Python objects" in refused(done)
    assert not (tmp_path / "executed").exists()


def test_deeply_nested_records_are_refused(tmp_path: Path) -> None:
    records = json.loads(lzma.decompress((SAMPLE / "tensor_location.json.xz").read_bytes()))
    text = json.dumps(records).replace('"operands": [', '"operands": [' + "[" * 100_000 + "]" * 100_000 + ",", 1)
    folder = context(tmp_path, locations=lambda path: path.unlink())
    (folder / "tensor_location.json").write_text(text)
    with pytest.raises(BadInput, match=r"tensor_location\.json: "):
        open_program(folder)


def changed_metadata(change: Callable[[Table, bytearray], None]) -> bytes:
    """The sample with the description of its first stage changed in place."""
    data = bytearray(MODEL)
    block = bytearray(data[64 : 64 + METADATA_SIZE])
    net = next(Block(block).root().tables(schema.Model.NETS))
    change(next(net.tables(schema.Net.STAGES)), block)
    data[64 : 64 + METADATA_SIZE] = block
    return bytes(data)


@needs_limits
@pytest.mark.parametrize("size", [1 << 62, 1 << 50, 200 << 30])
def test_memory_that_no_board_has_is_refused(tmp_path: Path, size: int) -> None:
    def change(stage: Table, block: bytearray) -> None:
        place = stage.position(schema.Stage.CONTEXT_SIZE)
        assert place is not None
        struct.pack_into("<Q", block, place, size)

    path = tmp_path / "huge.bmodel"
    path.write_bytes(changed_metadata(change))
    said = refused(run_in_one_gigabyte("run", str(path)))
    assert said == (
        f"{path}: activations: {size:,} bytes of DDR, more than this machine can give (limit: 256 GiB); "
        "is the file damaged?\n"
    )


def test_a_tensor_of_2_to_the_60_elements_is_refused(tmp_path: Path) -> None:
    def change(stage: Table, block: bytearray) -> None:
        tensor = next(stage.tables(schema.Stage.INPUTS))
        shape = next(tensor.tables(schema.Tensor.SHAPES))
        extents = [1 << 30 if index < 2 else 1 for index in range(len(shape.numbers(schema.Shape.EXTENTS, schema.U64)))]
        struct.pack_into(f"<{len(extents)}Q", block, shape.first(schema.Shape.EXTENTS), *extents)

    path = tmp_path / "huge.bmodel"
    path.write_bytes(changed_metadata(change))
    with pytest.raises(BadInput) as refusal:
        open_debugger(path, inputs=SAMPLE / "input.npz")
    assert "1152921504606846976" in str(refusal.value).replace(",", "") or "1073741824" in str(refusal.value)


def bomb_of_tables(width: int) -> bytes:
    """A description in which each of ``width`` nets is one and the same, with so many stages, and so on."""
    builder = flatbuffers.Builder(1024)

    def many(one: int) -> int:
        builder.StartVector(4, width, 4)
        for _ in range(width):
            builder.PrependUOffsetTRelative(one)
        return builder.EndVector()

    builder.StartObject(0)
    table = builder.EndObject()
    for slot in (schema.Subnet.INPUTS, schema.Stage.SUBNETS, schema.Net.STAGES, schema.Model.NETS):
        entries = many(table)
        builder.StartObject(slot + 1)
        builder.PrependUOffsetTRelativeSlot(slot, entries, 0)
        table = builder.EndObject()
    builder.Finish(table)
    return bytes(builder.Output())


def test_a_description_that_names_its_parts_again_and_again_is_refused() -> None:
    block = bomb_of_tables(1000)
    assert len(block) < 20_000
    with pytest.raises(BadInput, match=r"x: the model description is damaged \(its parts are more than 16 times"):
        read_metadata(block, "x")
    assert len(read_metadata(bomb_of_tables(2), "x").nets[0].stages[1].subnets) == 2


def test_what_may_be_unpacked_grows_with_the_file() -> None:
    assert limits.unpacked(100) == 256 << 20
    assert limits.unpacked(10 << 20) == 2000 << 20
    assert limits.unpacked(1 << 40) == limits.UNPACKED


def test_the_samples_are_far_below() -> None:
    bmodel = Bmodel(SAMPLE / "compilation.bmodel.xz")
    assert bmodel.payload.size < limits.unpacked(bmodel.path.stat().st_size) / 50
