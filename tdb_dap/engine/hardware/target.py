"""Protocol of a chip, as the engine uses it. Chips are data; the engine never tests for a chip's name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.views import Operand, View

K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(Mapping[K, V]):
    """A mapping that is made when it is first looked at: running a program needs no attributes."""

    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[K, V]:
        return self._make()

    def __getitem__(self, key: K) -> V:
        return self._made[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return repr(self._made)


class Description(Struct, frozen=True):
    """One decoded command: what it is called, reads, writes and says.

    Operands and results carry their role names; ``attributes`` are in the order of the listing. ``reads`` also holds
    what the command needs but a listing leaves out (the old value of an accumulating result). ``binding`` is the
    target's own; it gets it back to execute the command. ``unread``: bits of the words of operands, by role, that have
    no effect.
    """

    name: str
    family: str
    summary: str
    operands: tuple[Operand, ...]
    operand_roles: tuple[str, ...]
    results: tuple[Operand, ...]
    result_roles: tuple[str, ...]
    attributes: Mapping[str, Any]
    reads: tuple[Operand, ...]
    binding: Any = None
    unread: Mapping[str, int] = {}


class Stream(Struct, frozen=True):
    """One engine's commands of one group: byte offsets in the stream, instruction kinds, ids and dependencies.

    ``listed``: the dependencies as the vendor's listing prints them.
    """

    engine: str
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    kinds: NDArray[np.int32]
    ids: NDArray[np.int64]
    dependencies: NDArray[np.int64]
    listed: NDArray[np.int64]
    is_end: NDArray[np.bool_]


class Message(Struct, frozen=True):
    """Synchronisation between cores: a send or a wait, the message's number, and how many sends a wait expects."""

    is_send: bool
    number: int
    count: int


class Words(Protocol):
    """Storage of a command's operands and results: ``Memory``, or what stands in for it."""

    def read(self, view: View) -> Array:
        """Stored words of a view in its logical shape."""
        ...

    def peek(self, view: View) -> Array:
        """As ``read``; the array may be the storage itself, and is not to be written to."""
        ...

    def write(self, view: View, bits: Array) -> None:
        """Store words of the logical shape."""
        ...


class Cost(Struct, frozen=True):
    """Cost of a command."""

    cycles: float
    """Cycles of its engine."""
    operations: int = 0
    """Additions and multiplications."""
    read: int = 0
    """Bytes that DMA reads from memories outside of local memory."""
    written: int = 0
    """Bytes that DMA writes to memories outside of local memory."""


class EncodedCommands(Struct, frozen=True, eq=False, weakref=True):
    """The commands of a program as they are stored."""

    kinds: NDArray[np.int32]
    """Of each command; -1: it has no descriptor."""
    offsets: NDArray[np.int64]
    """The first byte of its descriptor."""
    cores: NDArray[np.int16]
    payload: NDArray[np.uint8]
    registers: Callable[[int, int], Mapping[int, int]] | None = None
    """The configuration registers of a core before a command; None: they are not known."""

    def digest(self, size_of: Callable[[int], int], *others: bytes) -> bytes:
        """16 bytes that stand for the commands and for what else is given. ``size_of``: bytes of each kind."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (*others, self.kinds.tobytes(), self.cores.tobytes()):
            digest.update(part)
        for kind in distinct(self.kinds):
            if kind >= 0:
                starts = self.offsets[self.kinds == kind]
                digest.update(self.payload[starts[:, None] + np.arange(size_of(kind))].tobytes())
        return digest.digest()


WATCHED_FORMATS = {"f32": 1, "f16": 2, "bf16": 4}
"""One more than the kernel's numbers of the formats."""

WATCHED_IN_PLACE = 8
"""Added where the operands that a command overwrites are its result: a NaN that was there before is not its own."""


class Watched:
    """The commands of a run whose results are looked at for NaN; the run ends after one that may hold any.

    ``formats``: of each command one more than the number of the format of its result, int8, in ``WATCHED_FORMATS``,
    perhaps with ``WATCHED_IN_PLACE``, or 0; ``is_found``: whether the run has ended for that.
    """

    def __init__(self, formats: NDArray[np.int8]) -> None:
        self.formats = formats
        self.is_found = False
        self._first = 0

    def starting_at(self, ordinal: int) -> Watched:
        """The same, of commands whose first one is that command of the program."""
        self._first = ordinal
        return self

    def of(self, first: int, stop: int) -> NDArray[np.int8]:
        """The formats of these commands."""
        return self.formats[self._first + first : self._first + stop]

    def first_in(self, first: int, stop: int) -> int:
        """The first command of the program in [first, stop) that is watched; ``stop`` if none is."""
        own = np.flatnonzero(self.formats[first:stop])
        return first + int(own[0]) if own.size else stop


class Target(Protocol):
    """A chip."""

    @property
    def name(self) -> str: ...

    @property
    def geometry(self) -> Geometry: ...

    def decode_stream(self, engine: str, data: NDArray[np.uint8], count: int | None, what: str) -> Stream:
        """Cut a stream into commands (None: as many as there are before the zeros at its end).

        BadInput names ``what`` and the byte offset of the error.
        """
        ...

    def decode_packets(self, data: NDArray[np.uint8], what: str) -> tuple[Stream, Stream, NDArray[np.bool_]]:
        """Cut one stream of both engines' commands: those of the TIU, those of the DMA, and for each which it is of.

        BadInput names ``what`` and the byte offset of the error.
        """
        ...

    def layers(self, commands: EncodedCommands) -> NDArray[np.int64] | None:
        """The number of the compiler's layer that each command carries, 0 for one that carries none.

        None for a chip whose commands have no such number.
        """
        ...

    def kind_name(self, kind: int) -> str:
        """Mnemonic of an instruction kind."""
        ...

    def kind_size(self, kind: int) -> int:
        """Bytes of a descriptor of this kind."""
        ...

    def reserved_bits(self, kind: int, descriptor: bytes = b"") -> int:
        """The bits of a descriptor that mean nothing, as a number.

        ``descriptor``: of a command; bits that belong to what it does not use may hold anything and are left out.
        """
        ...

    def is_system(self, kind: int) -> bool:
        """True for commands that synchronise or control and move no data."""
        ...

    def message(self, kind: int, descriptor: bytes, engines: int = 2) -> Message | None:
        """The message that a system command sends or waits for; None if it does neither.

        ``engines``: how many engines of a core take part.
        """
        ...

    def fields(self, kind: int, descriptor: bytes) -> dict[str, int]:
        """The named fields of a descriptor."""
        ...

    def encode(self, kind: int, descriptor: bytes, values: Mapping[str, int]) -> bytes:
        """A descriptor with other values in some of its fields, cut to their widths; KeyError for unknown fields."""
        ...

    def has_engine(self, engine: str) -> bool:
        """Whether commands of an engine are known."""
        ...

    def idle(self, engine: str, id: int) -> bytes | None:
        """A command that does nothing and waits for nothing; None if none is known of the chip."""
        ...

    def kind_of(self, engine: str, descriptor: bytes) -> int | None:
        """The instruction kind that the head of a descriptor says; None if it says none."""
        ...

    def register_writes(self, kind: int, descriptor: bytes) -> Mapping[int, int]:
        """Configuration registers that a command sets, by number; empty for commands that set none."""
        ...

    def describe(self, kind: int, descriptor: bytes, core: int, registers: Mapping[int, int]) -> Description:
        """Views, roles and attributes of one command; NotSimulated if a form has no description."""
        ...

    def writes_registers(self, kind: int) -> bool:
        """True for the kinds that set configuration registers."""
        ...

    def vendor_text(self, description: Description, engine: str, ids: tuple[int, int]) -> str:
        """The command as the vendor's listing prints it; ``ids``: own id and dependency."""
        ...

    def fill_tables(self, memory: Memory, tables: str) -> None:
        """Write the tables of static memory and L2: ``firmware`` or ``tdb`` (as the vendor debugger fills them)."""
        ...

    @property
    def l2_table_bytes(self) -> range:
        """The bytes of L2 that ``fill_tables`` writes."""
        ...

    @property
    def clock(self) -> float | None:
        """MHz of the engines; None where nothing is known of the chip's speed."""
        ...

    @property
    def timing_source(self) -> str:
        """Source of the numbers of ``cost``, as text."""
        ...

    def cost(self, description: Description) -> Cost | None:
        """An estimate of what a command costs; None where nothing is known of the chip's speed.

        Where its tensors are changes it only by which of them are in the same place.
        """
        ...

    def execute(self, description: Description, memory: Words) -> None:
        """Carry out one command on ``memory``; NotSimulated if it cannot be done exactly."""
        ...


@runtime_checkable
class Planning(Protocol):
    """A chip that knows commands by their form, which they have in common but for where their operands are."""

    def carry_out(
        self, kind: int, descriptor: bytes, core: int, memory: Memory, registers: Mapping[int, int] | None = None
    ) -> bool:
        """Carry out a command as others of its form; False, and nothing is done, where it has to be described first.

        ``registers``: as they are before it; None: they are not known.
        """
        ...

    def carry_out_some(self, commands: EncodedCommands, first: int, stop: int, memory: Memory) -> int:
        """Carry out commands from ``first`` on as others of their forms, one after the other, at most to ``stop``.

        The first one that was not; it has to be executed by itself.
        """
        ...


@runtime_checkable
class Watching(Protocol):
    """A chip with plans that also looks at what they leave."""

    def carry_out_watched(
        self, commands: EncodedCommands, first: int, stop: int, memory: Memory, watched: Watched
    ) -> int:
        """As ``carry_out_some``; it ends after a command that may have left what is ``watched``, and says so there."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """A chip that keeps between processes what it knows of the commands of a program."""

    @property
    def identity(self) -> str:
        """All that tells it from other chips, as text; empty where that is not known, and nothing is kept."""
        ...

    def recall(self, commands: EncodedCommands) -> None:
        """Use what another process has kept of these commands, however they will be executed."""
        ...

    def keep(self) -> None:
        """Keep what was learned since for other processes."""
        ...


class Form(Struct, frozen=True, eq=False):
    """Commands that are alike but for where their tensors are.

    ``reads``, ``results``: the tensors of one of them, as in its description.
    """

    reads: tuple[View, ...]
    results: tuple[View, ...]


@runtime_checkable
class Ruling(Protocol):
    """A chip that knows what makes a command illegal."""

    def illegal(self, description: Description) -> str:
        """The rule of the chip that a command breaks, in words; empty if it is legal.

        Of two commands of one form, both inside of their lanes, either breaks one or none.
        """
        ...


@runtime_checkable
class Moving(Protocol):
    """A chip that knows which commands look at none of the words that they move."""

    def is_move(self, description: Description) -> bool:
        """Whether the results of a command are the words of its only tensor, whatever these are."""
        ...

    def is_choice(self, description: Description) -> bool:
        """Whether its results are words of one of its tensors, whatever these are, which another one chooses."""
        ...


@runtime_checkable
class Forming(Protocol):
    """A chip that knows the tensors of a command by others of its form."""

    def formed(self, kind: int, descriptor: bytes, core: int) -> tuple[Form, Sequence[int]] | None:
        """The form of a command, and the address of each tensor, reads first; None where none like it was met.

        Local memory: in the same lane as the form's own.
        """
        ...

    def meet(self, description: Description, descriptor: bytes) -> None:
        """A command was described: others of its form need not be."""
        ...
