"""Payloads of events as typed records: each class parses the bytes of one kind, and packs them.

Bytes too few for what they announce are BadInput; the reader of the file adds where.
"""

from __future__ import annotations

import struct

from msgspec import Struct

from tdb_dap.engine.recording.format import BlockFlag, CopyFlag
from tdb_dap.errors import BadInput

_MOST_DIMENSIONS = 8


class _Bytes:
    """A payload that is read from its start."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple[int, ...]:
        """The next numbers, in the form of ``struct``."""
        layout = struct.Struct("<" + form)
        return layout.unpack(self.piece(layout.size))

    def piece(self, size: int) -> bytes:
        """The next bytes."""
        if len(self.data) - self.at < size:
            raise BadInput(f"a payload of {len(self.data)} bytes is too short; record again")
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self, size: int) -> str:
        """The next bytes as text."""
        return self.piece(size).decode("utf-8", "backslashreplace")

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def rest(self) -> bytes:
        """All that is left."""
        return self.piece(self.left)


class Region(Struct, frozen=True):
    """A memory of the device. ``space``: G (DDR), L (local), R (L2), S (static).

    ``start``: its device address, 0 for L and S. ``library``: file name of the emulator it belongs to. The core stands
    in the event.
    """

    space: str
    size: int
    start: int
    library: str

    @classmethod
    def parse(cls, data: bytes) -> Region:
        """Of the payload of a REGION."""
        source = _Bytes(data)
        space, size, start = source.take("B7xQQ")
        return cls(chr(space), size, start, source.text(source.left))

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<B7xQQ", ord(self.space), self.size, self.start) + self.library.encode()


class CommandStart(Struct, frozen=True):
    """An engine begins with a command. ``engine``: 0 TIU, 1 DMA, 3 SDMA, ...; ``descriptor``: 256 bytes at most.

    ``mark``: number, among the MARK events, of the last one before the firmware queued it; NO_MARK if there is none, or
    the command comes from a command stream. What is in ``descriptor`` after the command itself means nothing.
    """

    engine: int
    mark: int
    descriptor: bytes

    @classmethod
    def parse(cls, data: bytes) -> CommandStart:
        """Of the payload of a COMMAND."""
        source = _Bytes(data)
        engine, mark = source.take("II")
        return cls(engine, mark, source.rest())

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<II", self.engine, self.mark) + self.descriptor


class Block(Struct, frozen=True):
    """The content of ``len(content)`` bytes from ``offset`` in a region, before a command touched them.

    ``command``: number of that command among the COMMAND events, or NO_COMMAND.
    """

    space: str
    command: int
    offset: int
    content: bytes

    @classmethod
    def parse(cls, data: bytes, flags: int = 0, most: int = 1 << 30) -> Block:
        """Of the payload of a BLOCK; ``most``: bytes that a filled one may have, such as its region's size."""
        source = _Bytes(data)
        space, command, offset = source.take("B3xIQ")
        if not flags & BlockFlag.FILLED:
            return cls(chr(space), command, offset, source.rest())
        size, word = source.take("QQ")
        if size > most:
            raise BadInput(f"a block of {size:,} bytes in a region of {most:,}; record again")
        return cls(chr(space), command, offset, (word.to_bytes(8, "little") * (size // 8 + 1))[:size])

    def pack(self) -> bytes:
        """The payload, not filled."""
        return struct.pack("<B3xIQ", ord(self.space), self.command, self.offset) + self.content


class Hash(Struct, frozen=True):
    """The hash of ``size`` bytes from ``offset`` in a region, after the commands before it."""

    space: str
    offset: int
    size: int
    value: int

    @classmethod
    def parse(cls, data: bytes) -> Hash:
        """Of the payload of a HASH."""
        space, offset, size, value = _Bytes(data).take("B7xQQQ")
        return cls(chr(space), offset, size, value)

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<B7xQQQ", ord(self.space), self.offset, self.size, self.value)


class Base(Struct, frozen=True):
    """Device address that a tag stands for in the commands of an engine, from here on."""

    engine: int
    tag: int
    base: int

    @classmethod
    def parse(cls, data: bytes) -> Base:
        """Of the payload of a BASE."""
        return cls(*_Bytes(data).take("IiQ"))

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<IiQ", self.engine, self.tag, self.base)


class Mark(Struct, frozen=True):
    """A call of the dynamic firmware. ``name``: number of a NAME event; ``arguments``: the first four, as integers.

    ``tensor`` and ``shape``: what the call says of a tensor, in the shape of this run; None where it says nothing.
    """

    name: int
    thread: int
    arguments: tuple[int, int, int, int]
    result: int
    tensor: int | None
    shape: tuple[int, ...] | None

    @classmethod
    def parse(cls, data: bytes) -> Mark:
        """Of the payload of a MARK."""
        source = _Bytes(data)
        name, thread = source.take("II")
        a, b, c, d = source.take("4q")
        (result,) = source.take("q")
        if not source.left:
            return cls(name, thread, (a, b, c, d), result, None, None)
        (tensor,) = source.take("i")
        return cls(name, thread, (a, b, c, d), result, tensor, _shape(source))

    def pack(self) -> bytes:
        """The payload."""
        data = struct.pack("<II4qq", self.name, self.thread, *self.arguments, self.result)
        return data if self.shape is None else data + struct.pack("<i", self.tensor) + _packed(self.shape)


class CopyIn(Struct, frozen=True):
    """Bytes that the host, or the device itself, put at a device address. ``data``: None where they are not recorded.

    Bytes without data come as a BLOCK when a command touches them. ``source``: device address they came from.
    """

    address: int
    size: int
    data: bytes | None
    source: int | None

    @classmethod
    def parse(cls, data: bytes, flags: int = 0) -> CopyIn:
        """Of the payload of a COPY_IN."""
        source = _Bytes(data)
        address, size = source.take("QQ")
        origin = source.take("Q")[0] if flags & CopyFlag.DEVICE else None
        return cls(address, size, source.piece(size) if flags & CopyFlag.DATA else None, origin)

    def pack(self) -> bytes:
        """The payload."""
        origin = b"" if self.source is None else struct.pack("<Q", self.source)
        return struct.pack("<QQ", self.address, self.size) + origin + (self.data or b"")


class CopyOut(Struct, frozen=True):
    """Bytes that the host got from a device address; ``value``: their hash."""

    address: int
    size: int
    value: int

    @classmethod
    def parse(cls, data: bytes) -> CopyOut:
        """Of the payload of a COPY_OUT."""
        return cls(*_Bytes(data).take("QQQ"))

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<QQQ", self.address, self.size, self.value)


class LaunchTensor(Struct, frozen=True):
    """A tensor of a launch. ``dtype``: the number of the bmodel; ``mode``: how batches share words (0 one each).

    ``address`` is 0 where the caller gave host memory.
    """

    dtype: int
    mode: int
    address: int
    size: int
    shape: tuple[int, ...]

    @classmethod
    def take(cls, source: _Bytes) -> LaunchTensor:
        """The next one."""
        dtype, mode, address, size = source.take("IIQQ")
        return cls(dtype, mode, address, size, _shape(source))

    def pack(self) -> bytes:
        """Its bytes."""
        return struct.pack("<IIQQ", self.dtype, self.mode, self.address, self.size) + _packed(self.shape)


class LaunchBegin(Struct, frozen=True):
    """A net is launched. ``number``: from 0; ``stage``: NO_STAGE where it is not known."""

    number: int
    stage: int
    net: str
    inputs: tuple[LaunchTensor, ...]
    outputs: tuple[LaunchTensor, ...]

    @classmethod
    def parse(cls, data: bytes) -> LaunchBegin:
        """Of the payload of a LAUNCH_BEGIN."""
        source = _Bytes(data)
        number, stage, inputs, outputs, length = source.take("IIHHH")
        net = source.text(length)
        tensors = [LaunchTensor.take(source) for _ in range(inputs + outputs)]
        return cls(number, stage, net, tuple(tensors[:inputs]), tuple(tensors[inputs:]))

    def pack(self) -> bytes:
        """The payload."""
        net = self.net.encode()
        head = struct.pack("<IIHHH", self.number, self.stage, len(self.inputs), len(self.outputs), len(net))
        return head + net + b"".join(tensor.pack() for tensor in self.inputs + self.outputs)


class LaunchEnd(Struct, frozen=True):
    """The end of a launch. ``result``: 0 for success; ``outputs``: in the shapes of this run."""

    number: int
    result: int
    outputs: tuple[LaunchTensor, ...]

    @classmethod
    def parse(cls, data: bytes) -> LaunchEnd:
        """Of the payload of a LAUNCH_END."""
        source = _Bytes(data)
        number, result, count = source.take("IiH")
        return cls(number, result, tuple(LaunchTensor.take(source) for _ in range(count)))

    def pack(self) -> bytes:
        """The payload."""
        head = struct.pack("<IiH", self.number, self.result, len(self.outputs))
        return head + b"".join(tensor.pack() for tensor in self.outputs)


class Model(Struct, frozen=True):
    """A bmodel is loaded. ``number``: from 0, names its attached files; ``path``: empty if it came from memory."""

    number: int
    path: str

    @classmethod
    def parse(cls, data: bytes) -> Model:
        """Of the payload of a MODEL."""
        source = _Bytes(data)
        (number,) = source.take("I")
        return cls(number, source.text(source.left))

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<I", self.number) + self.path.encode("utf-8", "surrogateescape")


class CpuLayer(Struct, frozen=True):
    """An operation that runs on the host begins or ends."""

    operation: int
    is_end: bool

    @classmethod
    def parse(cls, data: bytes) -> CpuLayer:
        """Of the payload of a CPU_LAYER."""
        operation, end = _Bytes(data).take("II")
        return cls(operation, bool(end))

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<II", self.operation, self.is_end)


class Name(Struct, frozen=True):
    """The text that a number of MARK events stands for."""

    number: int
    text: str

    @classmethod
    def parse(cls, data: bytes) -> Name:
        """Of the payload of a NAME."""
        source = _Bytes(data)
        (number,) = source.take("I")
        return cls(number, source.text(source.left))

    def pack(self) -> bytes:
        """The payload."""
        return struct.pack("<I", self.number) + self.text.encode()


def _shape(source: _Bytes) -> tuple[int, ...]:
    (rank,) = source.take("i")
    if not 0 <= rank <= _MOST_DIMENSIONS:
        raise BadInput(f"a shape of {rank} dimensions; record again")
    return source.take(f"{rank}i")


def _packed(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}i", len(shape), *shape)
