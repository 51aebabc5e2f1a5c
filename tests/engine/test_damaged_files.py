"""Damaged files: an answer or one line of error, never another exception, a hang or a memory blow-up.

The default run is short; ``-m fuzz`` searches longer. Inputs that failed once stay as examples.
"""

from __future__ import annotations

import json
import lzma
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.program.compiled_program import places_of
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.targets.chips.bm1684x import BM1684X
from tdb_dap.tools.programs import open_program
from tests.samples import SAMPLE

MODEL = lzma.decompress((SAMPLE / "compilation.bmodel.xz").read_bytes())
RECORDS = json.loads(lzma.decompress((SAMPLE / "tensor_location.json.xz").read_bytes()))
METADATA = 64 + int.from_bytes(MODEL[8:12], "little")
# What the sample itself needs to open is far below; a damaged copy may not need much more.
MEMORY_CAP = 64 << 20

QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
LONG = settings(QUICK, max_examples=1_000)

EDITS = st.lists(st.tuples(st.integers(0, METADATA - 1), st.integers(0, 255)), min_size=1, max_size=8)
STREAM_EDITS = st.lists(st.tuples(st.integers(0, 2815), st.integers(0, 255)), min_size=1, max_size=8)


def damaged(folder: Path, data: bytes) -> Path:
    path = folder / "damaged.bmodel"
    path.write_bytes(data)
    return path


def opens_or_says_why(path: Path) -> None:
    tracemalloc.start()
    try:
        program = open_program(path)
        for command in program.commands[:8]:
            _ = command.asm
    except TdbError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 600
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MEMORY_CAP


def check_metadata(folder: Path, edits: list[tuple[int, int]]) -> None:
    data = bytearray(MODEL)
    for place, value in edits:
        data[place] = value
    opens_or_says_why(damaged(folder, bytes(data)))


@QUICK
@given(EDITS)
@example([(64 + i, 0xFF) for i in range(8)])
@example([(12, 0xFF), (19, 0xFF)])
@example([(910, 86)])
@example([(374, 216)])
def test_damaged_metadata(tmp_path: Path, edits: list[tuple[int, int]]) -> None:
    check_metadata(tmp_path, edits)


@pytest.mark.fuzz
@LONG
@given(EDITS)
def test_damaged_metadata_at_length(tmp_path: Path, edits: list[tuple[int, int]]) -> None:
    check_metadata(tmp_path, edits)


@QUICK
@given(st.integers(0, len(MODEL) - 1))
def test_truncated_files(tmp_path: Path, size: int) -> None:
    with pytest.raises(BadInput):
        Bmodel(damaged(tmp_path, MODEL[:size]))


def check_stream(edits: list[tuple[int, int]]) -> None:
    data = np.frombuffer(MODEL, np.uint8)[METADATA + 40960 : METADATA + 40960 + 2816].copy()
    for place, value in edits:
        data[place] = value
    try:
        stream = BM1684X.decode_stream("tiu", data, 47, "stream")
    except BadInput as error:
        assert "byte" in str(error)
        return
    for kind, offset in zip(stream.kinds.tolist(), stream.offsets.tolist(), strict=True):
        descriptor = data[offset : offset + BM1684X.kind_size(kind)].tobytes()
        try:
            BM1684X.describe(kind, descriptor, 0, {})
        except TdbError as error:
            assert str(error)


@QUICK
@given(STREAM_EDITS)
def test_damaged_command_streams(edits: list[tuple[int, int]]) -> None:
    check_stream(edits)


@pytest.mark.fuzz
@LONG
@given(STREAM_EDITS)
def test_damaged_command_streams_at_length(edits: list[tuple[int, int]]) -> None:
    check_stream(edits)


MLIR_PIECES = st.sampled_from(
    (
        *('"tpu.Conv2D"(', "%1 = ", "({", "})", "{", "}", "loc(#loc1)", "loc(fused[", "#loc1 = loc(", '"', "\n", "->"),
        *(" : (", "func.func @f(", "module", "<", ">", "[", "]", ", ", "%11:5", "a = 1 : i64", "\\", "\x00"),
    )
)


def check_mlir(pieces: list[str]) -> None:
    file = MlirFile("".join(pieces), Path("final.mlir"))
    for op in file.ops.values():
        assert isinstance(op.operands, tuple)
        assert isinstance(op.locations, tuple)
        assert op.attributes is not None
        assert isinstance(op.types, str)
    assert file.by_location is not None


@QUICK
@given(st.lists(MLIR_PIECES, max_size=60))
def test_any_text_is_scanned(pieces: list[str]) -> None:
    check_mlir(pieces)


@pytest.mark.fuzz
@LONG
@given(st.lists(MLIR_PIECES, max_size=200))
def test_any_text_is_scanned_at_length(pieces: list[str]) -> None:
    check_mlir(pieces)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 1 << 40) | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([*RECORDS[3], "operands", "results"])


def check_records(folder: Path, index: int, key: str, value: object, inner: bool) -> None:
    records = json.loads(json.dumps(RECORDS))
    target = records[index]
    if inner and target["results"]:
        target = target["results"][0]
        key = {"file-line": "address", "opcode": "memory_type", "core_id": "shape"}.get(key, "type")
    target[key] = value
    (folder / "tensor_location.json").write_text(json.dumps(records))
    (folder / "compilation.bmodel").write_bytes(MODEL)
    (folder / "final.mlir").write_bytes((SAMPLE / "final.mlir").read_bytes())
    try:
        program = open_program(folder)
        for record in program.source.records:
            for named in (*record.operands, *record.results):
                _ = named.view, named.scale, named.slices
            _ = record.slice_text, record.buffers
    except TdbError as error:
        assert "tensor_location.json" in str(error)


@QUICK
@given(st.integers(0, len(RECORDS) - 1), KEYS, JSON, st.booleans())
def test_foreign_records(tmp_path: Path, index: int, key: str, value: object, inner: bool) -> None:
    check_records(tmp_path, index, key, value, inner)


@pytest.mark.fuzz
@LONG
@given(st.integers(0, len(RECORDS) - 1), KEYS, JSON, st.booleans())
def test_foreign_records_at_length(tmp_path: Path, index: int, key: str, value: object, inner: bool) -> None:
    check_records(tmp_path, index, key, value, inner)


def test_names_with_control_characters_stay_in_their_line(tmp_path: Path) -> None:
    """Found by the fuzzer: the length of a name was damaged, and it held what follows it."""
    name = b"softmax16_Softmax"
    odd = open_program(damaged(tmp_path, MODEL.replace(name, b"soft\nax16\x1bSoftmax")))
    assert [tensor.name for tensor in odd.outputs] == [r"soft\nax16\x1bSoftmax"]
    output = replace(odd.stage.outputs[0], name="softmax" * 50, size=1 << 60)
    *_, place = places_of(replace(odd.stage, outputs=(output,)), odd.target.geometry)
    assert (place.size, len(place.title)) == (1 << 60, len("tensor ") + 120)
