"""The container of CV18xx: a heading of 48 bytes, the description (a FlatBuffer), and the sections.

Heading: ``CviModel``, bytes of the description, version, MD5 of all that follows, name of the chip. Sections hold
weights, command streams, and code of functions for the host.
"""

from __future__ import annotations

import hashlib
import math
import struct
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.bmodel import ModelFile, Span
from tdb_dap.engine.cvimodel.lz4_block import unpack_block
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import size_of
from tdb_dap.engine.files.file_bytes import FileBytes
from tdb_dap.engine.files.flat_buffer import Block, Table
from tdb_dap.engine.hardware.dtypes import BF16, F32, SI8, SI16, SI32, UI8, UI16, UI32, DType
from tdb_dap.errors import BadInput

MAGIC = b"CviModel"
HEADING = struct.Struct("<8sIBB16s16s2x")
CHECKSUM = slice(14, 30)
"""Bytes of the heading that hold the MD5 of all that follows it."""

DTYPES = {0: F32, 1: SI32, 2: UI32, 3: BF16, 4: SI16, 5: UI16, 6: SI8, 7: UI8}
"""Formats by their code in the file."""

SECTIONS = {0: "weights", 1: "commands", 2: "functions (x86-64)", 3: "functions (AArch64)", 4: "commands (DMA buffer)"}
"""Kinds of sections by their code in the file."""

WEIGHTS, COMMANDS = 0, 1
NATIVE = (2, 3)
"""Shared objects with code for a host, which nothing here ever loads."""

MOST_ELEMENTS = 1 << 28
"""Of one tensor; boards have up to 2 GiB of memory."""

_BYTE, _FLAG = struct.Struct("<B"), struct.Struct("<?")
_LONG, _FLOAT = struct.Struct("<q"), struct.Struct("<f")


def checksum(following: NDArray[np.uint8]) -> bytes:
    """MD5 of the bytes after the heading."""
    return hashlib.md5(following.tobytes(), usedforsecurity=False).digest()


class CviTensor(Struct, frozen=True):
    """A tensor of a program. ``address``: the memory it is in from bit 40, the byte in that memory below."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    address: int
    scale: float
    is_overwritten: bool = False
    """Whether its memory is used again before the program ends."""

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


class CviRoutine(Struct, frozen=True):
    """A step of a program: a command stream, or a function on the host.

    ``arguments``: where those of the function are in the file.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    commands: str
    """Section of its command stream; empty for a function."""
    dma_buffer: str
    """Section of the same commands as the hardware takes them; mostly empty."""
    function: str
    arguments: Span


class CviProgram(Struct, frozen=True):
    """A model compiled for one size of batch. Sizes are bytes."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: tuple[CviTensor, ...]
    routines: tuple[CviRoutine, ...]
    neuron_size: int
    shared_size: int
    private_size: int


class CviSection(Struct, frozen=True):
    """``size`` bytes from ``start`` after the description. ``kind``: key of ``SECTIONS``.

    ``unpacked_size``: bytes of what an LZ4 block of a compressed section holds.
    """

    kind: int
    name: str
    start: int
    size: int
    is_encrypted: bool
    is_compressed: bool
    unpacked_size: int = 0


class Description(Struct, frozen=True):
    """All that the description of a file says."""

    name: str
    built: str
    compiler: str
    weights: tuple[CviTensor, ...]
    programs: tuple[CviProgram, ...]
    sections: tuple[CviSection, ...]


class Cvimodel(ModelFile):
    """A .cvimodel file; BadInput names what is damaged.

    The payload is the whole file, behind it what compressed sections hold. Sections of native code are never looked at.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = FileBytes(path)
        data = self.content.data
        self.file_size = size_of(path)
        if data.size < HEADING.size or data[: len(MAGIC)].tobytes() != MAGIC:
            raise BadInput(
                f"{path}: not a cvimodel: it does not begin with {MAGIC.decode()} and a heading of {HEADING.size} bytes"
            )
        _, size, major, minor, self.checksum, chip = HEADING.unpack(data[: HEADING.size].tobytes())
        self.chip = chip.split(b"\0")[0].decode("ascii", "replace")
        self.version = f"{major}.{minor}"
        self.sections_start = HEADING.size + size
        if self.sections_start > data.size:
            raise BadInput(
                f"{path}: truncated cvimodel: its heading announces {self.sections_start:,} bytes and the file has "
                f"{data.size:,}; copy or compile it again"
            )
        try:
            self.description = _read(Block(data[HEADING.size : self.sections_start].tobytes()).root())
        except (struct.error, IndexError, ValueError, OverflowError) as error:
            raise BadInput(
                f"{path}: the model description is damaged ({error}); compile or copy the model again"
            ) from None
        self.payload_start = 0
        self.payload = data
        self._unpacked: dict[CviSection, Span] = {}

    @property
    def is_intact(self) -> bool:
        """Whether description and sections have the checksum of the heading."""
        held = self.payload[HEADING.size :]
        for span in self._unpacked.values():
            held = held[: min(held.size, span.start - HEADING.size)]
        return checksum(held) == self.checksum

    def span_of(self, section: CviSection) -> Span:
        """Span of the bytes of a section; BadInput if they reach beyond the file, or cannot be read."""
        stored = Span(self.sections_start + section.start, section.size)
        if section.is_encrypted:
            raise BadInput(
                f"{self.path}: section {section.name} is encrypted: only a runtime that has its key reads it; give the "
                "model as the compiler wrote it"
            )
        self.bytes_of(stored, f"section {section.name}")
        if not section.is_compressed:
            return stored
        if section not in self._unpacked:
            unpacked = self._unpack(section, self.bytes_of(stored, "a section").tobytes())
            self._unpacked[section] = Span(self.payload.size, len(unpacked))
            self.payload = np.concatenate([self.payload, np.frombuffer(unpacked, np.uint8)])
        return self._unpacked[section]

    def _unpack(self, section: CviSection, packed: bytes) -> bytes:
        if section.unpacked_size > limits.unpacked(len(packed)):
            raise BadInput(
                f"{self.path}: section {section.name} announces {section.unpacked_size:,} bytes in {len(packed):,} "
                "packed ones; is the file damaged?"
            )
        try:
            return unpack_block(packed, section.unpacked_size)
        except ValueError as error:
            raise BadInput(
                f"{self.path}: the compressed section {section.name} is damaged ({error}); copy or compile it again"
            ) from None


def _read(model: Table) -> Description:
    return Description(
        name=model.text(1),
        built=model.text(2),
        compiler=model.text(9),
        weights=tuple(_weight(entry) for entry in model.tables(5)),
        programs=tuple(_program(entry) for entry in model.tables(6)),
        sections=tuple(_section(entry) for entry in model.tables(7)),
    )


def is_cvimodel(path: Path) -> bool:
    """Whether a file is such a model, by its name or its first bytes; False if it cannot be read."""
    if path.suffix == ".cvimodel" or path.suffixes[-2:] == [".cvimodel", ".xz"]:
        return True
    try:
        if size_of(path) < HEADING.size:
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, BadInput):
        return False


def _dtype(code: int, name: str) -> DType:
    if code not in DTYPES:
        raise ValueError(f"tensor {name[:40]!r} has the unknown data type {code}")
    return DTYPES[code]


def _shape(table: Table | None, name: str) -> tuple[int, ...]:
    shape = table.numbers(0, _LONG) if table else ()
    if any(extent < 0 for extent in shape) or math.prod(max(1, extent) for extent in shape) > MOST_ELEMENTS:
        raise ValueError(f"tensor {name[:40]!r} has the impossible shape {list(shape[:8])}")
    return shape


def _weight(table: Table) -> CviTensor:
    name = table.text(0)
    return CviTensor(
        name, _dtype(table.integer(4, _BYTE), name), _shape(table.table(3), name), table.integer(1, _LONG), 1.0
    )


def _tensor(table: Table) -> CviTensor:
    name = table.text(1)
    quantization = table.table(6)
    scale = float(quantization.number(4, _FLOAT)) if quantization else 1.0
    dtype, shape = _dtype(table.integer(3, _BYTE), name), _shape(table.table(4), name)
    return CviTensor(name, dtype, shape, table.integer(2, _LONG), scale, bool(table.integer(7, _BYTE)))


def _program(table: Table) -> CviProgram:
    return CviProgram(
        inputs=table.texts(2),
        outputs=table.texts(3),
        tensors=tuple(_tensor(entry) for entry in table.tables(4)),
        routines=tuple(_routine(entry) for entry in table.tables(5)),
        neuron_size=table.integer(1),
        shared_size=table.integer(6),
        private_size=table.integer(7),
    )


def _routine(table: Table) -> CviRoutine:
    stream, function = table.table(3), table.table(4)
    return CviRoutine(
        inputs=table.texts(1),
        outputs=table.texts(2),
        commands=stream.text(0) if stream else "",
        dma_buffer=stream.text(1) if stream else "",
        function=function.text(0) if function else "",
        arguments=Span(HEADING.size + function.first(1), len(function.raw(1))) if function else Span(0, 0),
    )


def _section(table: Table) -> CviSection:
    return CviSection(
        kind=table.integer(0, _BYTE),
        name=table.text(1),
        size=table.integer(2),
        start=table.integer(3),
        is_encrypted=bool(table.number(4, _FLAG)),
        is_compressed=bool(table.number(5, _FLAG)),
        unpacked_size=table.integer(6),
    )
