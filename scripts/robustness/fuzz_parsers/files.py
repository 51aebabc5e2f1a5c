"""Targets: the files of a model and the data that goes with it."""

from __future__ import annotations

import io
import json
import lzma
import struct
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np

from scripts.robustness.fuzz_parsers.target import for_a_moment, target
from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.bmodel.metadata import read_metadata
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.machine.npz import read_npy, read_npz
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.reference.reference import Reference
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.language import models
from tdb_dap.targets.chips.registry import chips
from tdb_dap.tools.check.schema import Report
from tdb_dap.tools.graph.colours import by_verdict
from tdb_dap.tools.info.describing import describe
from tdb_dap.tools.programs import open_program
from tests.samples import DATA, SAMPLE

MODELS = (
    SAMPLE / "compilation.bmodel.xz",
    *(
        sorted(DATA.glob(f"{chip}/*/compilation.bmodel.xz"), key=lambda path: path.stat().st_size)[0]
        for chip in ("bm1684", "bm1688", "bm1690")
    ),
)
"""One of each kind of chip, the smallest that there is."""

_EDIT = struct.Struct("<HB")


@cache
def unpacked(path: Path) -> bytes:
    """A model as the compiler has written it."""
    return lzma.decompress(path.read_bytes())


def description(model: bytes) -> bytes:
    """The FlatBuffers block."""
    return model[64 : 64 + int.from_bytes(model[8:12], "little")]


@cache
def streams(path: Path) -> tuple[tuple[str, str, int, bytes, int], ...]:
    """Chip, engine, place in the file, bytes and commands of every stream."""
    bmodel = Bmodel(path)
    found = []
    for net in bmodel.metadata.nets:
        for subnet in net.stages[0].subnets:
            for group in (group for groups in subnet.groups for group in groups):
                for engine, span, count in (("tiu", group.tiu, group.tiu_count), ("dma", group.dma, group.dma_count)):
                    data = bmodel.bytes_of(span, "").tobytes()
                    found.append((bmodel.metadata.chip, engine, bmodel.payload_start + span.start, data, count))
    return tuple(found)


def edited(data: bytes, places: Callable[[Path], range | list[int]]) -> bytes:
    """A model with bytes changed. ``data``: which model, then (which place, byte) again and again."""
    path = MODELS[data[0] % len(MODELS)] if data else MODELS[0]
    model = bytearray(unpacked(path))
    where = places(path)
    for place, value in _EDIT.iter_unpack(data[1 : 1 + (len(data) - 1) // _EDIT.size * _EDIT.size]):
        model[where[place % len(where)]] = value
    return bytes(model)


def in_description(path: Path) -> range:
    """Header and description."""
    return range(64 + len(description(unpacked(path))))


@cache
def in_streams(path: Path) -> list[int]:
    """The bytes of all commands."""
    return [place for _, _, start, data, _ in streams(path) for place in range(start, start + len(data))]


def edits() -> Iterable[bytes]:
    return [bytes([model]) + bytes(_EDIT.pack(place, 255)) for model in range(len(MODELS)) for place in (9, 70, 400)]


def written(name: str, data: bytes) -> Path:
    """A file in the scratch directory."""
    path = Path(name)
    path.write_bytes(data)
    return path.absolute()


def look(program: Program) -> None:
    """What ``info`` and ``dis`` show."""
    for _ in describe(program):
        pass
    for command in program.commands[:16]:
        _ = command.asm


@target("model", edits)
def model(data: bytes) -> None:
    """Header and description of a lone bmodel."""
    look(open_program(written("x.bmodel", edited(data, in_description))))


@target("description", lambda: [description(unpacked(path)) for path in MODELS], longest=16384)
def flat_buffers(data: bytes) -> None:
    """The FlatBuffers block itself."""
    read_metadata(data, "x.bmodel")


@cache
def cvimodels() -> list[bytes]:
    """Models of CV18xx, the smallest first."""
    return sorted((unpacked(path) for path in DATA.glob("chips/cv18*/*/model.cvimodel.xz")), key=len)


@target("cvimodel", cvimodels, words=("CviModel", "cv181x", "cv183x"), longest=20000)
def cvimodel(data: bytes) -> None:
    """A lone model of CV18xx, as ``info`` and ``dis`` show it, and its first commands, executed and undone."""
    program = open_program(written("x.cvimodel", data))
    look(program)
    machine = Machine(program)
    with for_a_moment():
        while machine.ordinal < min(12, len(program.commands)):
            machine.step()
    machine.travel(0)


@target("commands", edits)
def commands(data: bytes) -> None:
    """Command streams of a model: decoded, put in order, printed, with what they access."""
    program = open_program(written("x.bmodel", edited(data, in_streams)))
    look(program)
    for command in program.commands:
        try:
            _ = command.operands, command.results
        except TdbError:
            continue


@target("execution", edits)
def execution(data: bytes) -> None:
    """The first commands of such a model, executed and undone."""
    program = open_program(written("x.bmodel", edited(data, in_streams)))
    machine = Machine(program)
    with for_a_moment():
        while machine.ordinal < min(12, len(program.commands)):
            machine.step()
    machine.travel(0)


@target("stream", lambda: [bytes([i]) + s[3][:1024] for i, s in enumerate(streams(MODELS[0]))])
def stream(data: bytes) -> None:
    """Any bytes as the commands of any chip and engine."""
    known = sorted(chips().values(), key=lambda chip: chip.name)
    which = data[0] if data else 0
    chip, engine = known[which // 2 % len(known)], ("tiu", "dma")[which % 2]
    found = chip.decode_stream(engine, np.frombuffer(data[1:], np.uint8), None, "the stream")
    for kind, offset in zip(found.kinds.tolist()[:8], found.offsets.tolist()[:8], strict=True):
        try:
            chip.describe(kind, data[1 + offset : 1 + offset + chip.kind_size(kind)], 0, {})
        except TdbError:
            continue


_MLIR = (
    '"tpu.Conv2D"(',
    "loc(#loc1)",
    "loc(fused[",
    "#loc1 = loc(",
    "func.func @main(",
    "}, {",
    "({",
    "-> tensor<1x3xf32>",
)


@target("mlir", lambda: [(SAMPLE / "final.mlir").read_bytes()], words=_MLIR, longest=16384)
def mlir(data: bytes) -> None:
    """final.mlir."""
    file = MlirFile.read(written("final.mlir", data))
    for op in file.ops.values():
        _ = op.operands, op.locations, op.attributes, op.types
    _ = file.by_location
    file.prepare()


_RECORDS = ("null", "-1", "9223372036854775808", "[]", "{}", "1e999", '"tensor<1x1x1x1xf32>"', "[[[[[[[[", '"GMEM"')


@target("locations", lambda: [locations_of_sample()], words=_RECORDS, longest=16384)
def locations(data: bytes) -> None:
    """tensor_location.json, laid over a model."""
    folder = Path("context")
    if not folder.exists():
        folder.mkdir()
        for name in ("compilation.bmodel.xz", "final.mlir"):
            (folder / name).write_bytes((SAMPLE / name).read_bytes())
    (folder / "tensor_location.json").write_bytes(data)
    program = open_program(folder)
    for record in program.source.records:
        try:
            for named in (*record.operands, *record.results):
                _ = named.view, named.scale, named.slices
            _ = record.slice_text, record.buffers
        except TdbError:
            continue


def locations_of_sample() -> bytes:
    return lzma.decompress((SAMPLE / "tensor_location.json.xz").read_bytes())


@cache
def sample() -> Program:
    return open_program(SAMPLE)


def archives() -> Iterable[bytes]:
    """Small npz files, packed and not, of several kinds of numbers."""
    shapes = {
        "in_0": np.zeros((1, 3, 4, 4), np.float32),
        "b": np.array([True]),
        "c": np.array("text"),
        "d": np.arange(3),
    }
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **shapes)  # type: ignore[arg-type]
        yield buffer.getvalue()


_NPY = (
    "\\x93NUMPY\\x01\\x00",
    "'descr': '<f4'",
    "'|O'",
    "(1152921504606846976,)",
    "'fortran_order': True",
    "PK\\x03\\x04",
)


@target("npz", archives, words=_NPY)
def npz(data: bytes) -> None:
    """Inputs and reference data."""
    path = written("input.npz", data)
    arrays = read_npz(path)
    assert sum(array.nbytes for array in arrays.values()) < 1 << 30
    Reference([path], [arrays])
    load_inputs(path, sample().inputs)


def arrays() -> Iterable[bytes]:
    for array in (np.zeros((2, 3), np.float32), np.zeros(3, "<U4"), np.zeros(2, [("a", "<i4"), ("b", "<f8")])):
        buffer = io.BytesIO()
        np.save(buffer, array)
        yield buffer.getvalue()


@target("npy", arrays, words=_NPY)
def npy(data: bytes) -> None:
    """Weights for ``patch``."""
    assert read_npy(written("weight.npy", data)).nbytes <= len(data)


@target("raw inputs", lambda: [bytes(64), bytes(sum(t.view.nbytes for t in sample().inputs))], longest=1 << 16)
def raw_inputs(data: bytes) -> None:
    """input_ref_data.dat."""
    load_inputs(written("input.dat", data), sample().inputs)


@target("xz", lambda: [lzma.compress(b"text"), lzma.compress(b"a") + lzma.compress(b"b")])
def xz(data: bytes) -> None:
    """Whatever is packed."""
    read_file(written("x.mlir.xz", data))


def reports() -> Iterable[bytes]:
    yield b'{"rows": [{"line": 3, "verdict": "fail", "blame": {"text": "x"}}, {"line": 4, "verdict": "pass"}]}'
    yield json.dumps({name: [] for name in Report.__struct_fields__}).encode()
    yield b'{"files": {"top_mlir": {"path": "x.mlir", "last_modify": 3}}}'


@target(
    "reports",
    reports,
    words=("null", "[]", "{}", "-1", '"rows"', '"line"', '"verdict"', '"blame"', '"files"', '"path"'),
)
def json_reports(data: bytes) -> None:
    """check.json, sanitize.json, ref_files.json."""
    from tdb_dap.engine.source.compile_stages import CompileStages

    path = written("check.json", data)
    written("sanitize.json", data)
    written("ref_files.json", data)
    program = opened_next_to(path.parent)
    models.checked(program)
    models.sanitized(program)
    assert "\n" not in CompileStages(program.context).reason
    try:
        by_verdict(path)
    except BadInput as error:
        assert str(error)


@cache
def opened_next_to(folder: Path) -> Program:
    """The sample in the scratch directory."""
    (folder / "compilation.bmodel.xz").write_bytes((SAMPLE / "compilation.bmodel.xz").read_bytes())
    return open_program(folder)
