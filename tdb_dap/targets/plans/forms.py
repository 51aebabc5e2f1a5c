"""Forms of commands: a descriptor without its addresses, but the lanes at which these begin and their alignment."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.views import Constant, Operand, View
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.declaration.family import Bound
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.declaration.instruction_set import Instruction
from tdb_dap.targets.declaration.rows import Row, number

Located = tuple[Space, int]
Registers = Mapping[int, int]
"""Configuration registers by their numbers; one that was not written is 0."""


class AddressSlot(NamedTuple):
    """The bits of a descriptor that say where one tensor is."""

    parts: tuple[tuple[int, int, int], ...]
    """Of each field the first bit, a mask, and how far what it says is shifted to the left."""
    is_device: bool
    """Whether it is a device address; else it is one of the TIU."""
    first: int
    """Bytes from the address to the tensor."""
    space: Space | None
    """The address is an offset in this memory; None: the address says which."""
    register: int = -1
    """The configuration register that the address is in; -1: it is in the descriptor."""

    def located(self, word: int, geometry: Geometry, registers: Registers | None) -> Located:
        """Space and offset in a descriptor, taken as a number."""
        if self.register >= 0:
            raw = registers.get(self.register, 0) if registers is not None else 0
        else:
            raw = sum([(word >> bit & mask) << shift for bit, mask, shift in self.parts])
        if self.is_device:  # no form takes part in what no legal command has
            return (Space.UNKNOWN, raw) if geometry.is_repeated(raw) else geometry.locate(raw)
        raw += self.first
        if self.space is not None:
            return self.space, raw
        return (Space.LOCAL, raw) if raw < geometry.named_by_offset else geometry.locate(raw)


class Shape(NamedTuple):
    """The bits of a kind's descriptors that are addresses of tensors, in some of its commands."""

    slots: tuple[AddressSlot, ...]
    """Of each different location, operands first."""
    mask: int
    """The bits that are neither addresses nor ids."""
    size: int
    """Bytes of a descriptor."""
    registers: tuple[int, ...] = ()
    """Configuration registers that tell forms from each other."""

    @property
    def needs_registers(self) -> bool:
        """Whether a command's form depends on registers."""
        return bool(self.registers) or any(slot.register >= 0 for slot in self.slots)


ALIGNMENT = 64
"""Bytes that tensors of local memory may have to begin at a multiple of."""
WORD = 4
"""The same in other memories."""


def place_of(location: Located, geometry: Geometry) -> int:
    """The lane at which a tensor begins in local memory, and how it is aligned there; else the space, below zero."""
    space, offset = location
    if space is Space.LOCAL:
        return offset // geometry.lane_bytes * ALIGNMENT + offset % ALIGNMENT
    return -1 - SPACES[space] * WORD - offset % WORD


SPACES = {space: number for number, space in enumerate(Space)}
"""Numbers of spaces."""


def key_of(
    word: int, shape: Shape, locations: Sequence[Located], geometry: Geometry, registers: Registers | None
) -> bytes:
    """The bytes that tell the form of a command from others of its shape."""
    numbers = [place_of(location, geometry) for location in locations]
    numbers += [registers.get(register, 0) if registers is not None else 0 for register in shape.registers]
    return (word & shape.mask).to_bytes(shape.size, "little") + struct.pack(f"<{len(numbers)}q", *numbers)


class PlacelessFields(Fields):
    """Fields of a command without its addresses and ids: a function that asks for one of them gets no plan."""

    def __init__(
        self,
        fields: Fields,
        without: frozenset[str],
        locations: Mapping[str, Located],
        registers: Registers,
    ) -> None:
        values = fields.__dict__.copy()
        for name in without:
            values.pop(name, None)
        super().__init__(values, fields.sub, fields.geometry, 0, registers, fields.conventions)
        self.__dict__.update({f"{side} located": location for side, location in locations.items()})
        self.without = without

    def __getattr__(self, name: str) -> int:
        if name in self.__dict__.get("without", ()):
            raise Unplanned(f"the field {name}")
        return super().__getattr__(name)

    def lane(self, prefix: str) -> int:
        """The lane is part of the form."""
        space, offset = self.__dict__.get(f"{prefix} located", (Space.UNKNOWN, 0))
        if space is not Space.LOCAL:
            raise Unplanned(f"the lane of {prefix}")
        return int(offset) // self.geometry.lane_bytes

    def has(self, name: str) -> bool:
        if name in self.without:
            raise Unplanned(f"the field {name}")
        return super().has(name)


class NoRegisters(Mapping[int, int]):
    """Registers of any value: nobody may ask for one."""

    def __getitem__(self, key: int) -> NoReturn:
        raise Unplanned(f"register {key}")

    def __iter__(self) -> NoReturn:
        raise Unplanned("the registers")

    def __len__(self) -> NoReturn:
        raise Unplanned("the registers")


class UnknownRegisters(Exception):
    """A form depends on registers, and nobody knows them."""


class SeenRegisters(Mapping[int, int]):
    """Registers, and which ones were asked for; without ``values`` UnknownRegisters for each."""

    def __init__(self, values: Registers | None) -> None:
        self._values = values
        self.seen = set[int]()

    def __getitem__(self, key: int) -> int:
        if self._values is None:
            raise UnknownRegisters
        self.seen.add(key)
        return self._values.get(key, 0)

    def __iter__(self) -> NoReturn:
        raise Unplanned("the registers")

    def __len__(self) -> NoReturn:
        raise Unplanned("the registers")


class BoundForm(Bound, frozen=True):
    """A family applied to what all commands of a form share."""

    fields: PlacelessFields


class Encoding:
    """The fields of a kind of command under two names.

    ``names``: names that all chips share -> those of the table; ``ids``: fields that say nothing of what a command
    computes, by the shared names; ``mask``: the bits of none of these.
    """

    def __init__(self, instruction: Instruction, names: Mapping[str, str], ids: frozenset[str]) -> None:
        self.instruction = instruction
        self.names = names
        self._bits: dict[str, tuple[int, int]] = {}
        self.ids = frozenset(shared for shared, own in names.items() if own in ids)
        self.mask = (1 << 8 * instruction.size) - 1
        for shared in self.ids:
            first, bits = self.bits(shared)
            self.mask &= ~(bits << first)

    def bits(self, name: str) -> tuple[int, int]:
        """The first bit of a field, by its shared name, and its mask."""
        known = self._bits.get(name)
        if known is None:
            _, bit, width = self.instruction.by_name[self.names[name]]
            known = self._bits[name] = bit, (1 << width) - 1
        return known


class Addresses(NamedTuple):
    """The locations of the tensors of one command."""

    shape: Shape
    numbers: dict[str, int]
    """The slot of each tensor, by role; of one that is operand and result both roles."""
    fields: frozenset[str]
    """Addresses and ids."""
    sides: dict[str, Located]
    """The first byte of the lane, or the space, that each side of a move begins in."""


def addresses_of(bound: Bound, encoding: Encoding) -> Addresses:
    """The locations that a command names; Unplanned where not just a field says where a tensor is."""
    family, real = bound.family, bound.fields
    if not bound.results:
        raise Unplanned("no result")
    rows, fields, sides = family.rows, set[str](), dict[str, Located]()
    slots: list[AddressSlot] = []
    numbers: dict[str, int] = {}
    mask = encoding.mask
    for role, view in (*bound.operands.items(), *bound.results.items()):
        if not isinstance(view, View):
            continue
        row = rows[role]
        used, slot = _slot(row, real, encoding)
        fields.update(used)
        if slot not in slots:
            slots.append(slot)
        numbers[role] = slots.index(slot)
        sides.setdefault(row.side or row.prefix, _origin((view.space, view.address), real.geometry))
    for slot in slots:
        for bit, bits, _ in slot.parts:
            mask &= ~(bits << bit)
    fields.update(encoding.ids)
    shape = Shape(tuple(slots), mask, encoding.instruction.size)
    return Addresses(shape, numbers, frozenset(fields), sides)


class Form(NamedTuple):
    """A command as all commands of its form are: every tensor at the first byte of its lane, or of its space."""

    bound: BoundForm
    numbers: dict[str, int]
    """The slot of each tensor, by role."""


def form_of(bound: Bound, addresses: Addresses, registers: Registers) -> Form:
    """The form of a command; Unplanned where addresses say anything but where tensors are.

    ``registers``: as the function that computes it sees them.
    """
    family, real = bound.family, bound.fields
    placeless = PlacelessFields(real, addresses.fields, addresses.sides, registers)
    operands = _bound_again(dict(family.operands), bound.operands, placeless)
    results = _bound_again(dict(family.results), bound.results, placeless)
    return Form(BoundForm(family, placeless, operands, results, bound.kind), addresses.numbers)


def _slot(row: Row, f: Fields, encoding: Encoding) -> tuple[tuple[str, ...], AddressSlot]:
    """The fields that hold the address of a row's tensor, and where it is in a descriptor."""
    first = number(f, row.first)
    if row.register is not None:
        return (), AddressSlot((), False, first, None, row.register)
    if row.parts is not None:
        fields, space = row.parts(f)
        names = tuple([name for name, _, _ in fields])
        parts = [(*encoding.bits(name), mask, shift) for name, mask, shift in fields]
        own = tuple([(bit, every & mask, shift) for bit, every, mask, shift in parts])
        return names, AddressSlot(own, space is None, first, space)
    if row.side:
        low, high = f.device_address_fields(f"{row.side}_start_addr")
        return (low, high), AddressSlot(((*encoding.bits(low), 0), (*encoding.bits(high), 32)), True, first, None)
    name = row.address_field(f)
    if name is None:
        raise Unplanned("an address that is not a field")
    in_static = row.in_static is not None and row.in_static(f)
    space = Space.STATIC if in_static else Space.L2 if row.in_l2 else None
    return (name,), AddressSlot(((*encoding.bits(name), 0),), False, first, space)


def _origin(location: Located, geometry: Geometry) -> Located:
    space, offset = location
    return space, offset // geometry.lane_bytes * geometry.lane_bytes if space is Space.LOCAL else 0


def _bound_again(rows: Mapping[str, Row], bound: Mapping[str, Operand], fields: PlacelessFields) -> dict[str, Operand]:
    """The operands of ``bound`` from fields without addresses; Unplanned where they are others."""
    operands: dict[str, Operand] = {}
    for role, row in rows.items():
        before = bound.get(role)
        location = _origin((before.space, before.address), fields.geometry) if isinstance(before, View) else None
        now = row.bind_at(fields, location)
        if (now is None) != (before is None) or (isinstance(now, View) != isinstance(before, View)):
            raise Unplanned(f"{role} is there because of an address")
        if now is None or before is None:
            continue
        if not _is_like(now, before):
            raise Unplanned(f"{role} depends on an address")
        operands[role] = now
    return operands


def tensors_in_lanes(bound: Bound) -> tuple[object, ...]:
    """Tensors of a command, each but for where it begins in its lane, or outside of local memory."""
    lane_bytes = bound.fields.geometry.lane_bytes
    return tuple(
        [
            (role, view.address // lane_bytes if view.space is Space.LOCAL else -1, _without_place(view))
            for role, view in (*bound.operands.items(), *bound.results.items())
            if isinstance(view, View)
        ]
    )


def _is_like(now: Operand, before: Operand) -> bool:
    if isinstance(now, View) and isinstance(before, View):
        return _without_place(now) == _without_place(before)
    if isinstance(now, Constant) and isinstance(before, Constant):
        return (now.bits, now.dtype.name, now.dtype.kind) == (before.bits, before.dtype.name, before.dtype.kind)
    return False


def _without_place(view: View) -> tuple[Any, ...]:
    parts = (view.space, view.shape, view.layout, view.strides, view.width, view.lane_mask)
    return (*parts, view.dtype.name, view.dtype.kind, view.dtype.per_byte)
