"""The file of a recording: written and read back, interrupted, damaged, and made by somebody unfriendly."""

from __future__ import annotations

import contextlib
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdb_dap.engine.files import limits
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording import payloads
from tdb_dap.engine.recording.format import Event, event
from tdb_dap.engine.recording.payloads import (
    Base,
    Block,
    CommandStart,
    CopyIn,
    CopyOut,
    CpuLayer,
    Hash,
    LaunchBegin,
    LaunchEnd,
    LaunchTensor,
    Mark,
    Model,
    Name,
    Region,
)
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.engine.recording.writer import Writer
from tdb_dap.errors import BadInput

TENSOR = LaunchTensor(0, 0, 4379967488, 12288, (1, 3, 32, 32))
SAMPLES = [
    (Event.REGION, Region("G", 1 << 32, 0x100000000, "libcmodel.so")),
    (Event.COMMAND, CommandStart(1, 4, bytes(range(96)))),
    (Event.BLOCK, Block("G", 0, 16368, b"abc" * 100)),
    (Event.HASH, Hash("R", 16368, 16384, 1 << 63)),
    (Event.BASE, Base(3, 31, 0x6900000000)),
    (Event.MARK, Mark(2, 1, (1, -2, 3, 4), -5, 12, (1, 32, 8, 8))),
    (Event.MARK, Mark(2, 1, (1, 2, 3, 4), 5, None, None)),
    (Event.COPY_IN, CopyIn(0x105100000, 4, b"wxyz", None)),
    (Event.COPY_OUT, CopyOut(0x105100000, 40, 99)),
    (Event.LAUNCH_BEGIN, LaunchBegin(0, form.NO_STAGE, "toy", (TENSOR,), (TENSOR, TENSOR))),
    (Event.LAUNCH_END, LaunchEnd(0, -1, (TENSOR,))),
    (Event.MODEL, Model(0, "/models/mod\u00e8le.bmodel")),
    (Event.CPU_LAYER, CpuLayer(17, True)),
    (Event.NAME, Name(2, "dynamic_context_group_end")),
]
"""An event of each type with a payload."""


def stream(*samples: tuple[Event, object]) -> bytes:
    """Events as the recorder writes them."""
    return b"".join(event(kind, sample.pack(), core=3) for kind, sample in samples)  # type: ignore[attr-defined]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tdbrec"


def written(path: Path, *, done: bool = True) -> Path:
    """A recording of three chunks of events and an attached file."""
    with Writer(path, {"arguments": ["model_runner"]}) as writer:
        for _ in range(3):
            writer.events(stream(*SAMPLES))
            writer.flush()
        writer.attach("models/0/final.mlir", b"module {}")
        if done:
            writer.done({"exit": 0})
    return path


def chunks(data: bytes) -> list[int]:
    """Where each chunk begins, and the end."""
    starts = [form.FILE_HEADER.size]
    while starts[-1] < len(data):
        _, _, size, _ = form.CHUNK_HEADER.unpack_from(data, starts[-1])
        starts.append(starts[-1] + form.CHUNK_HEADER.size + size)
    return starts


def test_what_is_written_is_read(path: Path) -> None:
    recording = Recording.read(written(path))
    assert recording.is_complete
    assert (recording.head["arguments"], recording.done["exit"]) == (["model_runner"], 0)
    assert recording.files == {"models/0/final.mlir": b"module {}"}
    assert recording.events["type"].tolist() == [int(kind) for kind, _ in SAMPLES] * 3
    assert set(recording.events["core"].tolist()) == {3}
    for index, (_, sample) in enumerate(SAMPLES * 3):
        flags = form.CopyFlag.DATA if isinstance(sample, CopyIn) else 0
        if isinstance(sample, CopyIn):
            assert CopyIn.parse(recording.payload(index), flags) == sample
        else:
            assert recording.parsed(index, type(sample).parse) == sample  # type: ignore[attr-defined]
    assert recording.of(Event.MODEL).tolist() == [11, 25, 39]


def test_a_block_that_is_full_of_one_word_is_short() -> None:
    payload = struct.pack("<B3xIQQQ", ord("L"), 7, 16, 20, 0x1122334455667788)
    block = Block.parse(payload, form.BlockFlag.FILLED)
    assert (block.space, block.command, block.offset, len(block.content)) == ("L", 7, 16, 20)
    assert block.content[:9].hex() == "887766554433221188"


def test_a_filled_block_cannot_be_larger_than_its_region() -> None:
    payload = struct.pack("<B3xIQQQ", ord("L"), 7, 0, 1 << 60, 1)
    with pytest.raises(BadInput, match=r"a block of 1,152,921,504,606,846,976 bytes in a region of 1,024"):
        Block.parse(payload, form.BlockFlag.FILLED, most=1024)


def test_copies_in_the_device_have_a_source() -> None:
    copy = CopyIn(16, 4, b"data", 99)
    assert CopyIn.parse(copy.pack(), form.CopyFlag.DEVICE | form.CopyFlag.DATA) == copy
    assert CopyIn.parse(CopyIn(16, 4, None, None).pack()) == CopyIn(16, 4, None, None)


@pytest.mark.parametrize(("kind", "sample"), SAMPLES, ids=lambda value: getattr(value, "name", ""))
def test_a_payload_that_is_cut_off_is_refused_wherever_it_is_cut(kind: Event, sample: object) -> None:
    whole = sample.pack()  # type: ignore[attr-defined]
    shortest = {Event.REGION: 24, Event.COMMAND: 8, Event.BLOCK: 16, Event.MODEL: 4, Event.NAME: 4, Event.COPY_IN: 16}
    parse = type(sample).parse  # type: ignore[attr-defined]
    for size in range(len(whole)):
        if size >= shortest.get(kind, len(whole)) or (kind is Event.MARK and size == 48):
            parse(whole[:size])
        else:
            with pytest.raises(BadInput, match="too short"):
                parse(whole[:size])


def test_a_shape_of_too_many_dimensions_is_refused() -> None:
    payload = struct.pack("<IiHIIQQi", 0, 0, 1, 0, 0, 0, 0, 1 << 30)
    with pytest.raises(BadInput, match=r"a shape of 1073741824 dimensions"):
        LaunchEnd.parse(payload)


def test_a_payload_that_is_wrong_is_named_by_file_and_event(path: Path) -> None:
    with Writer(path, {}) as writer:
        writer.events(event(Event.QUIET) + event(Event.HASH, b"short"))
    with pytest.raises(BadInput, match=rf"{path}: event 1: a payload of 5 bytes is too short"):
        Recording.read(path).parsed(1, Hash.parse)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_payload_or_refused(data: bytes) -> None:
    for kind in vars(payloads).values():
        if isinstance(kind, type) and hasattr(kind, "parse"):
            with contextlib.suppress(BadInput):
                kind.parse(data)


@given(st.binary(max_size=100))
def test_the_hash_is_the_sum_of_words_and_keys(data: bytes) -> None:
    def key(i: int) -> int:
        z = (i + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
        z = (z ^ z >> 27) * 0x94D049BB133111EB % (1 << 64)
        return (z ^ z >> 31) | 1

    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
    assert form.hash_of(data) == sum(word * key(i) for i, word in enumerate(words)) % (1 << 64)


def test_a_million_events_take_no_object_each(path: Path) -> None:
    one = event(Event.COMMAND, bytes(40))
    with Writer(path, {}) as writer:
        for _ in range(100):
            writer.events(one * 1000)
    recording = Recording.read(path)
    assert recording.events.dtype == form.EVENT_DTYPE
    assert recording.events.shape == (100_000,)
    assert np.diff(recording.events["start"].astype(np.int64)).tolist() == [len(one)] * 99_999


# Files that are not whole.


def test_an_interrupted_recording_is_read_and_says_so(path: Path) -> None:
    recording = Recording.read(written(path, done=False))
    assert not recording.is_complete
    assert recording.remark == "it was interrupted: what the program did after the last event is not in it"
    assert len(recording.events) == 3 * len(SAMPLES)


def test_a_recording_that_is_cut_off_anywhere_is_read_up_to_there(path: Path) -> None:
    data = written(path).read_bytes()
    starts = chunks(data)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        whole = sum(1 for end in starts[1:] if end <= size)
        if whole == 0:
            with pytest.raises(BadInput, match=r"not a recording|nothing was recorded"):
                Recording.read(path)
            continue
        recording = Recording.read(path)
        assert len(recording.events) == len(SAMPLES) * min(max(whole - 1, 0), 3)
        assert not recording.is_complete
        if size not in starts:
            assert f"its last part, at byte {starts[whole]:,}, is not whole" in recording.remark


@pytest.mark.parametrize("chunk", [0, 1, 2, 3])
def test_damage_before_the_end_is_refused_by_its_place(path: Path, chunk: int) -> None:
    data = bytearray(written(path).read_bytes())
    at = chunks(bytes(data))[chunk]
    data[at + form.CHUNK_HEADER.size + 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadInput, match=rf"damaged at byte {at:,}: its checksum is wrong; copy it or record again"):
        Recording.read(path)


@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(bit=st.integers(0, 1 << 20))
def test_no_flipped_bit_goes_unseen(path: Path, bit: int) -> None:
    data = bytearray(written(path).read_bytes())
    bit %= 8 * len(data)
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    with contextlib.suppress(BadInput):
        assert not Recording.read(path).is_complete


def test_a_file_of_another_kind_or_version_is_refused(path: Path) -> None:
    path.write_bytes(b"PK\3\4" + bytes(100))
    with pytest.raises(BadInput, match=r"not a recording; `tdb-dap record -- PROGRAM` makes one"):
        Recording.read(path)
    path.write_bytes(form.FILE_HEADER.pack(form.MAGIC, 2, 0, 0))
    with pytest.raises(BadInput, match="a recording of version 2, and this tdb-dap reads 1; update tdb-dap"):
        Recording.read(path)


def chunk(kind: bytes, content: bytes, *, claimed: int | None = None) -> bytes:
    """A chunk that may be about its size."""
    packed = zstandard.ZstdCompressor().compress(content)
    size = len(content) if claimed is None else claimed
    return form.CHUNK_HEADER.pack(kind, size, len(packed), zlib.crc32(packed)) + packed


def made(path: Path, *parts: bytes) -> Path:
    """A file of these chunks; an empty one follows, so that none of them is the last."""
    start = form.FILE_HEADER.pack(form.MAGIC, form.VERSION, 0, 0)
    path.write_bytes(start + b"".join(parts) + chunk(form.EVENTS, b""))
    return path


HEAD = chunk(form.HEAD, b"{}")


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([chunk(form.EVENTS, b"")], "its chunks are out of order"),
        ([HEAD, HEAD], "its chunks are out of order"),
        ([chunk(form.HEAD, b"[1]")], "not a JSON object"),
        ([chunk(form.HEAD, b"{" * 100_000)], "not JSON"),
        ([chunk(form.HEAD, b"\xff")], "not JSON"),
        ([HEAD, chunk(b"MORE", b"")], "an unknown kind of chunk"),
        ([HEAD, chunk(form.EVENTS, bytes(8), claimed=16)], "its size is not the announced one"),
        ([HEAD, chunk(form.EVENTS, bytes(1000), claimed=8)], "its size is not the announced one"),
        ([HEAD, chunk(form.EVENTS, event(Event.QUIET) + b"\3")], "an event is cut off"),
        ([HEAD, chunk(form.EVENTS, form.EVENT_HEADER.pack(2, 0, 0, 0xFFFFFFFF))], "an event is cut off"),
        ([HEAD, chunk(form.EVENTS, form.EVENT_HEADER.pack(2, 0, 0, 9) + bytes(8))], "an event is cut off"),
        ([HEAD, chunk(form.ATTACHED, b"\x05\x00abc")], "an attached file without its name"),
        ([HEAD, chunk(form.ATTACHED, b"\x05")], "an attached file without its name"),
        ([HEAD, chunk(form.DONE, b'{"sha256": "0"}')], "the checksum of the whole is wrong"),
        ([HEAD, chunk(form.DONE, b"{}")], "the checksum of the whole is wrong"),
        ([HEAD, form.CHUNK_HEADER.pack(form.EVENTS, 8, 3, zlib.crc32(b"abc")) + b"abc"], "it cannot be unpacked"),
    ],
)
def test_a_chunk_that_lies_is_refused(path: Path, parts: list[bytes], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        Recording.read(made(path, *parts))


def test_a_recording_cannot_go_on_after_its_end(path: Path) -> None:
    written(path)
    path.write_bytes(path.read_bytes() + chunk(form.EVENTS, b""))
    with pytest.raises(BadInput, match="it continues after its end"):
        Recording.read(path)


def test_a_few_bytes_cannot_fill_the_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNPACKED_FREELY", 8 << 20)
    huge = zstandard.ZstdCompressor(level=19).compress(bytes(2 << 20))
    part = form.CHUNK_HEADER.pack(form.EVENTS, 2 << 20, len(huge), zlib.crc32(huge)) + huge
    with pytest.raises(BadInput, match=f"unpacks to more than {limits.readable(limits.UNPACKED_FREELY)}"):
        Recording.read(made(path, HEAD, *[part] * 5))


def test_a_frame_that_announces_more_than_its_chunk_is_not_unpacked(path: Path) -> None:
    with pytest.raises(BadInput, match="its size is not the announced one"):
        Recording.read(made(path, HEAD, chunk(form.EVENTS, bytes(200 << 20), claimed=8)))


def test_names_of_attached_files_are_names_only(path: Path) -> None:
    content = (12).to_bytes(2, "little") + b"../../x\xff\0.py" + b"boo"
    recording = Recording.read(made(path, HEAD, chunk(form.ATTACHED, content)))
    assert list(recording.files) == ["../../x\\xff\0.py"]


def test_a_writer_without_room_leaves_a_file_that_can_be_read(path: Path) -> None:
    with Writer(path, {}) as writer:
        writer.events(stream(*SAMPLES))
        writer.flush()
        size = path.stat().st_size

        class Full:
            """A disk that takes half of what is written once, and then nothing."""

            def __init__(self, file: object) -> None:
                self.file, self.left = file, 100

            def write(self, data: memoryview) -> int:
                if self.left <= 0:
                    raise OSError(28, "No space left on device")
                count = self.file.write(data[: self.left])  # type: ignore[attr-defined]
                self.left -= count
                return int(count)

            def __getattr__(self, name: str) -> object:
                return getattr(self.file, name)

        writer._file = Full(writer._file)  # type: ignore[assignment]
        with pytest.raises(OSError, match="No space left"):
            writer.attach("models/0/final.mlir", bytes(range(256)) * 20)
    assert path.stat().st_size == size
    assert len(Recording.read(path).events) == len(SAMPLES)


def test_the_head_is_plain_json(path: Path) -> None:
    data = written(path).read_bytes()
    kind, _, size, _ = form.CHUNK_HEADER.unpack_from(data, form.FILE_HEADER.size)
    start = form.FILE_HEADER.size + form.CHUNK_HEADER.size
    assert kind == b"HEAD"
    assert json.loads(zstandard.decompress(data[start : start + size])) == {"arguments": ["model_runner"]}


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    path = tmp_path / "x.tdbrec"
    path.write_bytes(b"nothing")
    with pytest.raises(BadInput, match="not a recording"):
        Recording.read(str(path))
