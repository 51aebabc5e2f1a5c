"""Encodings as data: how a stream of bytes becomes commands, and a command its fields.

A table (``isa/<chip>.json``) lists, per engine, the head fields that select an instruction, and per register layout
the fields (name, bit, width). Nothing here knows what a field means.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.errors import BadInput

TABLES = Path(__file__).parents[1] / "isa"
"""What the package knows of instructions, a file per chip, and the evidence for it."""

Field = tuple[str, int, int]
"""Name, first bit, width in bits."""

_HEAD_BYTES = 16
"""Bytes of a descriptor that the fields are in which select its instruction."""
_PACKET_BYTES = 8
"""Bytes of the heading of a packet: mark of the chip, bytes of the descriptor, engine, zeros."""

_SOURCE_END = "src_start_addr_h"
_RESERVED = re.compile(r"(rsvd|opt_rsv|rese?r[ev]*d?|Reserved|reversed)_?\d*$")


class Instruction(Struct, frozen=True, dict=True):
    """One instruction form: what the head fields select."""

    engine: str
    register: str
    """Name of the register layout."""
    mnemonic: str
    """Text such as ``conv.normal``."""
    kind: int
    sub: int
    """Its sub type."""
    bits: int
    fields: tuple[Field, ...]
    has_short: bool = False
    """There is a shorter form of the same operation."""

    @property
    def size(self) -> int:
        """Bytes of the descriptor."""
        return -(-self.bits // 8)

    @property
    def is_unproven(self) -> bool:
        """A long form of a TIU that has short ones: no compiler emits them, the vendor's simulators pass over them."""
        return self.engine == "tiu" and self.has_short

    @property
    def writes_registers(self) -> bool:
        """True for the commands that set configuration registers."""
        return self.register.startswith("SYS_TR")

    @cached_property
    def by_name(self) -> dict[str, Field]:
        return {field[0]: field for field in self.fields}

    @cached_property
    def _places(self) -> tuple[tuple[str, int, int, int, bool], ...]:
        """Position of each field: name, word of 64 bits, first bit in it, mask, and whether it ends in that word."""
        return tuple(
            (name, bit // 64, bit % 64, (1 << width) - 1, bit % 64 + width <= 64)
            for name, bit, width in self.fields
            if not _RESERVED.match(name)
        )

    @cached_property
    def reserved_bits(self) -> int:
        """The bits that no named field covers, as a number."""
        named = 0
        for name, bit, width in self.fields:
            if not _RESERVED.match(name):
                named |= ((1 << width) - 1) << bit
        return ~named & ((1 << 8 * self.size) - 1)

    @cached_property
    def bits_after_source(self) -> int:
        """The reserved bits directly after the address of a source, as a number."""
        ends = {bit + width for name, bit, width in self.fields if name.startswith(_SOURCE_END)}
        after = [(bit, width) for name, bit, width in self.fields if _RESERVED.match(name) and bit in ends]
        return sum(((1 << width) - 1) << bit for bit, width in after)

    def decode(self, descriptor: bytes) -> dict[str, int]:
        """Every named field of one descriptor; reserved bits are left out."""
        size = -(-len(descriptor) // 8)
        # Shifting whole descriptors is slow: pairs of words of 64 bits hold every field.
        words = struct.unpack(f"<{size + 1}Q", descriptor.ljust(8 * size + 8, b"\0"))
        return {
            name: (words[word] >> bit if within else (words[word] | words[word + 1] << 64) >> bit) & mask
            for name, word, bit, mask, within in self._places
        }

    def renamed(self, rename: Callable[[str], str]) -> Instruction:
        """The same form with other names for its fields; reserved bits are left out."""
        return replace(
            self,
            fields=tuple((rename(name), bit, width) for name, bit, width in self.fields if not _RESERVED.match(name)),
        )

    def encode(self, descriptor: bytes, **values: int) -> bytes:
        """``descriptor`` with the named fields replaced; KeyError for a field that does not exist."""
        word = int.from_bytes(descriptor, "little")
        for name, value in values.items():
            _, bit, width = self.by_name[name]
            word &= ~(((1 << width) - 1) << bit)
            word |= (value & ((1 << width) - 1)) << bit
        return word.to_bytes(self.size, "little")


class Lookup(Struct, frozen=True):
    """Head bits to instruction: ``table[head & mask]`` is an index into the instruction list."""

    mask: int
    table: dict[int, int]


class InstructionSet:
    """All instructions of one chip."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.chip: str = table["chip"]
        made: list[Instruction] = []
        self._lookups: dict[str, tuple[Lookup, Lookup]] = {}
        packet: Mapping[str, Any] = table.get("packet", {})
        self._packet_engines: dict[int, str] = {int(code): engine for code, engine in packet.get("engines", {}).items()}
        # Hundreds of instructions have the same layout, so its fields are made once.
        layouts: dict[str, tuple[Field, ...]] = {
            name: tuple((field, bit, width) for field, bit, width in fields)
            for name, fields in table["layouts"].items()
        }
        for engine, description in table["engines"].items():
            self._add_engine(made, engine, description, table["regs"], layouts)
        self.instructions: tuple[Instruction, ...] = tuple(made)

    @classmethod
    @cache
    def load(cls, chip: str) -> InstructionSet:
        """The table that comes with the package for ``chip`` (lower case)."""
        text = (TABLES / f"{chip}.json").read_text("utf-8")
        return cls(json.loads(text))

    def _add_engine(
        self,
        made: list[Instruction],
        engine: str,
        description: dict[str, Any],
        registers: dict[str, Any],
        layouts: Mapping[str, tuple[Field, ...]],
    ) -> None:
        head: dict[str, tuple[int, int]] = {name: (bit, width) for name, bit, width in description["head"]}
        positions = [head[name] for name in description["key"]]
        short_bit, mask = positions[0][0], 0
        by_type = Lookup(0, {})
        for bit, width in positions:
            mask |= ((1 << width) - 1) << bit
        table: dict[int, int] = {}
        bits_when_short = {
            (kind, sub): registers[register]["bits"] for short, kind, sub, register, _ in description["index"] if short
        }
        for short, kind, sub, register, mnemonic in description["index"]:
            form = registers[register]
            name = re.sub(r"（.*", "", register).strip()
            instruction = Instruction(
                engine,
                name,
                mnemonic or f"{name.lower()}.{sub}",
                kind,
                sub,
                form["bits"],
                layouts[form["layout"]],
                not short and bits_when_short.get((kind, sub), form["bits"]) < form["bits"],
            )
            # An engine without short forms has no such bit in its key.
            values = (short, kind, sub)[-len(positions) :]
            key = sum(value << bit for value, (bit, _) in zip(values, positions, strict=True))
            table[key] = len(made)
            if "SYS" in name.upper():
                # System commands have no short form: the bit belongs to other data.
                table.setdefault(key ^ (1 << short_bit), len(made))
            if instruction.writes_registers:
                # Bit 0 is immediate data and the sub type has only three bits: the type alone decides.
                bit, width = head["tsk_typ"]
                by_type = Lookup(((1 << width) - 1) << bit, {kind << bit: len(made)})
            made.append(instruction)
        self._lookups[engine] = (Lookup(mask, table), by_type)

    def split(
        self, engine: str, stream: NDArray[np.uint8], count: int | None, what: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Cut a stream into ``count`` commands (None: up to the zeros at its end): byte offsets and instructions.

        ``what`` names the stream in errors. BadInput on an unknown head, a stream that is too short, or bytes other
        than zero after the last command.
        """
        if engine not in self._lookups:
            raise BadInput(f"{what}: this chip has no {engine.upper()} engine (decoded as {self.chip})")
        lookup, by_type = self._lookups[engine]
        if count is None:
            count = self._count(engine, stream)
        mask, get = lookup.mask, lookup.table.get
        sizes = [instruction.size for instruction in self.instructions]
        data = stream.tobytes()
        if count * min(sizes) > len(data):
            raise BadInput(f"{what}: announces {count:,} commands in {len(data):,} bytes; copy or compile it again")
        offsets, kinds = np.empty(count, np.int64), np.empty(count, np.int32)
        offset = 0
        for i in range(count):
            head = int.from_bytes(data[offset : offset + _HEAD_BYTES], "little")
            index = get(head & mask)
            if index is None:
                index = by_type.table.get(head & by_type.mask)
            if index is None or offset + sizes[index] > len(data):
                raise BadInput(self._error_text(data, offset, engine, what, i, count))
            offsets[i], kinds[i] = offset, index
            offset += sizes[index]
        if any(data[offset:]):
            raise BadInput(
                f"{what}: {len(data) - offset:,} bytes after the last of {count:,} commands are not zero; "
                f"is the chip in the file right? (decoded as {self.chip})"
            )
        return offsets, kinds

    def split_packets(
        self, stream: NDArray[np.uint8], mark: int, what: str
    ) -> tuple[list[str], NDArray[np.int64], NDArray[np.int32]]:
        """Cut a stream of packets into commands: the engine of each, byte offset of its descriptor, instruction.

        ``mark``: the first byte of every packet. BadInput names ``what`` and the packet that is none.
        """
        data = stream.tobytes()
        sizes = [instruction.size for instruction in self.instructions]
        lookups = {
            bytes([mark, sizes[next(iter(lookup.table.values()))], code]) + bytes(_PACKET_BYTES - 3): (
                engine,
                lookup.mask,
                lookup.table.get,
            )
            for code, engine in self._packet_engines.items()
            for lookup, _ in [self._lookups[engine]]
        }
        engines: list[str] = []
        offsets: list[int] = []
        kinds: list[int] = []
        at = 0
        while at < len(data):
            known = lookups.get(data[at : at + _PACKET_BYTES])
            start = at + _PACKET_BYTES
            if known is None or start + data[at + 1] > len(data):
                raise BadInput(self._packet_error(data, at, lookups, what))
            engine, mask, get = known
            kind = get(int.from_bytes(data[start : start + _HEAD_BYTES], "little") & mask)
            if kind is None:
                raise BadInput(self._error_text(data, start, engine, what, len(kinds), None))
            engines.append(engine)
            offsets.append(start)
            kinds.append(kind)
            at = start + data[at + 1]
        return engines, np.array(offsets, np.int64), np.array(kinds, np.int32)

    def _packet_error(self, data: bytes, at: int, known: Iterable[bytes], what: str) -> str:
        heads = " and ".join(f"{head[:3].hex(' ')} ({self._packet_engines[head[2]].upper()})" for head in known)
        return (
            f"{what}: no command at byte {at:,} of {len(data):,}: the packet begins with {data[at : at + 3].hex(' ')}, "
            f"this chip has {heads or 'no packets'}"
        )

    def kind_of(self, engine: str, descriptor: bytes) -> int | None:
        """Index of the instruction that the head of a descriptor selects; None if it selects none."""
        if engine not in self._lookups:
            return None
        lookup, by_type = self._lookups[engine]
        head = int.from_bytes(descriptor[:_HEAD_BYTES], "little")
        return lookup.table.get(head & lookup.mask, by_type.table.get(head & by_type.mask))

    def blank(self, kind: int) -> bytes:
        """A descriptor of a kind with nothing in it but what says the kind."""
        instruction = self.instructions[kind]
        lookup, _ = self._lookups[instruction.engine]
        key = next(key for key, candidate in lookup.table.items() if candidate == kind)
        return key.to_bytes(instruction.size, "little")

    def _count(self, engine: str, stream: NDArray[np.uint8]) -> int:
        """Commands before the zeros at the end of a stream whose count is not recorded."""
        lookup, by_type = self._lookups[engine]
        used = int(np.flatnonzero(stream).max(initial=-1)) + 1
        data, offset, count = stream.tobytes(), 0, 0
        while offset < used:
            head = int.from_bytes(data[offset : offset + _HEAD_BYTES], "little")
            index = lookup.table.get(head & lookup.mask, by_type.table.get(head & by_type.mask))
            count += 1
            if index is None:
                break  # found again, and named, when the stream is cut
            offset += self.instructions[index].size
        return count

    def _error_text(self, data: bytes, offset: int, engine: str, what: str, i: int, count: int | None) -> str:
        of = f" of {count:,}" if count is not None else ""
        if offset + 8 > len(data):
            return f"{what}: ends at byte {len(data):,} after {i:,}{of} commands; copy or compile it again"
        head = data[offset : offset + 8].hex()
        return (
            f"{what}: unknown {engine.upper()} command head {head} at byte {offset:,} of {len(data):,} "
            f"(command {i + 1:,}{of}); is this a model for another chip? (decoded as {self.chip})"
        )


def column(data: NDArray[np.uint8], offsets: NDArray[np.int64], field: Field) -> NDArray[np.int64]:
    """One field of many commands at once: int64, one value per offset. Fields of up to 57 bits."""
    _, bit, width = field
    first = offsets + bit // 8
    count = (bit % 8 + width + 7) // 8
    words = np.zeros(offsets.size, np.uint64)
    for i in range(count):
        words |= data[first + i].astype(np.uint64) << np.uint64(8 * i)
    return ((words >> np.uint64(bit % 8)) & np.uint64((1 << width) - 1)).astype(np.int64)
