"""The forms of a chip's commands that were met, each with its plan, which is made at the first command of the form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from threading import Lock
from typing import NamedTuple
from zlib import crc32

from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.errors import TdbError
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.declaration.family import Bound
from tdb_dap.targets.plans.forms import (
    Encoding,
    Located,
    Registers,
    SeenRegisters,
    Shape,
    UnknownRegisters,
    addresses_of,
    form_of,
    key_of,
    tensors_in_lanes,
)
from tdb_dap.targets.plans.making import Made, make
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.semantics.registry import Semantic

MOST_FORMS = 1 << 14
"""Forms that are kept."""
_MANY = 16
"""Forms of a kind without a plan after which few of its other ones are tried, until one of them has a plan.

Its next commands may have another number format: those of a network that is mixed, or of the next one in this process.
"""
_FEW = 16
"""Of so many commands one is tried then: always the same ones, so that what is kept of a program does not grow."""
_ERRORS = (
    Unplanned,
    TdbError,
    KeyError,
    ValueError,
    IndexError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    BufferError,
)
"""What keeps a form from having a plan; its commands are executed one by one, and say what is wrong."""


class Instructions(NamedTuple):
    """Facts of a chip that plans are made from."""

    geometry: Geometry
    name: Callable[[int], str]
    """Of a kind of command."""
    size: Callable[[int], int]
    """Bytes of its descriptors."""
    moves_nothing: Callable[[int], bool]
    """Whether its commands change no memory."""
    bind: Callable[[int, bytes, int, Mapping[int, int]], Bound]
    """The family of a command: kind, descriptor, core and registers."""
    encoding: Callable[[int], Encoding]
    refuse: Callable[[str, Bound], frozenset[str]]
    broken_rule: Callable[[Bound], str]
    """Raises for what is not simulated; gives the fields that it has looked at."""


class Numbered(NamedTuple):
    """A shape, and the numbers of its forms by their keys."""

    shape: Shape
    numbers: dict[bytes, int]


class Form(NamedTuple):
    """The form of a command: its number, which of the kind's shapes it has, and where its tensors are."""

    number: int
    which: int
    locations: list[Located]


class Known:
    """The forms that were met, by their numbers. Sessions in several threads may share them: nothing is taken back."""

    def __init__(self, chip: Instructions, rules: Rules) -> None:
        self._chip = chip
        self._rules = rules
        self.shapes: dict[int, list[Numbered]] = {}
        """Of each kind."""
        self.plans: list[Made | None] = []
        """The plan of each form; None: it has none."""
        self.calls: list[object] = []
        """The kernel's part of it, or None."""
        self.functions: dict[tuple[str, int], Semantic] = {}
        """Those that plans were made of."""
        self._failures: dict[int, int] = {}
        self._alike: dict[tuple[object, ...], Made] = {}
        """Plans of forms that differ in how tensors are aligned within their lanes only."""
        self._lock = Lock()

    def at(self, chip: Instructions) -> Known:
        """The same forms, met by a chip of which only addresses differ: forms have none."""
        other = copy(self)
        other._chip = chip
        return other

    @property
    def is_full(self) -> bool:
        return len(self.plans) > MOST_FORMS

    def find(self, kind: int, word: int, registers: Registers | None) -> Form | None:
        """The form of a command, if one of its form was met. ``word``: the descriptor as a number."""
        geometry = self._chip.geometry
        for which, (shape, numbers) in enumerate(self.shapes.get(kind, ())):
            if registers is None and shape.needs_registers:
                continue
            locations = [slot.located(word, geometry, registers) for slot in shape.slots]
            number = numbers.get(key_of(word, shape, locations, geometry, registers))
            if number is not None:
                return Form(number, which, locations)
        return None

    def meet(self, kind: int, descriptor: bytes, core: int, registers: Registers | None) -> Form | None:
        """The form of the first command of its form, with a plan if it can have one.

        None: it is not tried, or it depends on registers and these are not known.
        """
        if self._failures.get(kind, 0) > _MANY and crc32(descriptor) % _FEW:
            return None
        try:
            shape, made = self._planned(kind, descriptor, core, SeenRegisters(registers))
        except UnknownRegisters:
            return None
        self.note(kind, has_plan=made is not None)
        word = int.from_bytes(descriptor, "little")
        locations = [slot.located(word, self._chip.geometry, registers) for slot in shape.slots]
        which, key = self._which(kind, shape), key_of(word, shape, locations, self._chip.geometry, registers)
        return Form(self.add(self.shapes[kind][which].numbers, key, made), which, locations)

    def note(self, kind: int, has_plan: bool) -> None:
        """Take down whether a form of a kind has a plan."""
        self._failures[kind] = -MOST_FORMS if has_plan else self._failures.get(kind, 0) + 1

    def _planned(self, kind: int, descriptor: bytes, core: int, registers: SeenRegisters) -> tuple[Shape, Made | None]:
        encoding = self._chip.encoding(kind)
        # Everything but ids tells a form without a plan from others, if its addresses are not known: it is tried once.
        shape, made = Shape((), encoding.mask, encoding.instruction.size), None
        try:
            bound = self._chip.bind(kind, descriptor, core, registers)
            addresses = addresses_of(bound, encoding)
            shape = addresses.shape
            registers.seen.clear()  # of addresses: where tensors are is no part of a form
            if self._chip.broken_rule(bound):
                raise Unplanned("an illegal command")
            word = int.from_bytes(descriptor, "little") & shape.mask
            alike = kind, shape, word, tensors_in_lanes(bound)
            if (known := self._alike.get(alike)) is not None:
                return shape, known
            form = form_of(bound, addresses, registers)
            name = self._chip.name(kind)
            if self._chip.refuse(name, form.bound) & form.bound.fields.without:
                raise Unplanned("an address that is refused where it is not zero")
            made = make(name, form, self._rules)
            if not registers.seen:
                self._alike[alike] = made
        except _ERRORS:
            made = None
        return shape._replace(registers=tuple(sorted(registers.seen))), made

    def numbers_of(self, kind: int, shape: Shape) -> dict[bytes, int]:
        """The numbers of a shape's forms by their keys."""
        which = self._which(kind, shape)
        return self.shapes[kind][which].numbers

    def _which(self, kind: int, shape: Shape) -> int:
        """The number of a shape among those of its kind, a new one if it has none."""
        with self._lock:
            shapes = self.shapes.setdefault(kind, [])
            for which, numbered in enumerate(shapes):
                if numbered.shape == shape:
                    return which
            shapes.append(Numbered(shape, {}))
            return len(shapes) - 1

    def add(self, numbers: dict[bytes, int], key: bytes, made: Made | None) -> int:
        """The number of a form; what another thread has added for it meanwhile stays."""
        with self._lock:
            number = numbers.get(key)
            if number is None:
                number = len(self.plans)
                if made is not None:
                    self.functions[made.sub] = made.function
                self.plans.append(made)
                self.calls.append(None if made is None else made.calls)
                numbers[key] = number
            return number
