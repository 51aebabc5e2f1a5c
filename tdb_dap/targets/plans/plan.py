"""A cache of plans by form, and their execution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.errors import BadAccess, TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.declaration.family import Bound
from tdb_dap.targets.plans.batches import (
    MOST_SLOTS,
    NOTHING,
    UNKNOWN,
    Batch,
    Locations,
    keys_of,
    locations_of,
    regions_of,
)
from tdb_dap.targets.plans.forms import Encoding, Located, Shape, addresses_of, form_of, key_of, mask_without
from tdb_dap.targets.plans.making import Made, make
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.registry import Semantic
from tdb_dap.targets.semantics.rules import Rules

_MOST = 1 << 14
"""Forms that are kept."""
_AT_ONCE = 1 << 11
"""Commands whose forms are found at once."""
_MOST_BATCHES = 1 << 6
"""So many commands whose forms are remembered."""
_HOPELESS = 16
"""Forms of a kind without a plan from which on its other ones get none, if none has one."""
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
"""What keeps a form from having a plan; its commands are executed as they were before, and say what is wrong."""


class _NoPlan(NamedTuple):
    """A form with its number of observed commands."""

    seen: int


_NEVER = _NoPlan(-1)


class Numbered(NamedTuple):
    """A shape, and the numbers of its forms by their keys."""

    shape: Shape
    numbers: dict[bytes, int]


class _Known:
    """The forms that were met, by their numbers. Sessions in several threads may share them: nothing is taken back."""

    def __init__(self) -> None:
        self.shapes: dict[int, list[Numbered]] = {}
        self.forms: list[Made | _NoPlan | None] = []
        self.calls: list[object] = []
        """The plan of each form; None: it has none."""
        self.functions: dict[tuple[str, int], Semantic] = {}
        """Those that plans were made of."""
        self.plans = 0
        """How many there are."""
        self._lock = Lock()

    def add(self, numbers: dict[bytes, int], key: bytes) -> int:
        """The number of a form, a new one if it has none."""
        with self._lock:
            number = numbers.get(key)
            if number is None:
                number = len(self.forms)
                self.forms.append(None)
                self.calls.append(None)
                numbers[key] = number
            return number

    def set(self, number: int, form: Made | _NoPlan) -> None:
        """From now on the form has a plan, or it is known that it has none yet; a plan that it has stays."""
        with self._lock:
            if isinstance(self.forms[number], Made):
                return  # another thread may be carrying it out
            if isinstance(form, Made):
                self.functions[form.sub] = form.function
                self.plans += 1
            self.forms[number] = form
            self.calls[number] = form.calls if isinstance(form, Made) else None


@dataclass
class _Resolved:
    """A batch, as far as its forms were known."""

    batch: Batch
    known: _Known
    plans: int
    """How many plans there were."""
    reached: int
    """The furthest command that was asked for."""

    def serves(self, commands: EncodedCommands, memory: Memory, known: _Known, first: int) -> bool:
        """Whether it can be gone on with at a command: when time has gone back, new plans count."""
        is_own = self.known is known and self.batch.holds(commands, memory, first)
        return is_own and (first >= self.reached or self.plans == known.plans)


class Plans:
    """The plans of one chip. ``refuse``: raises for commands that ask for something that is not simulated;
    it gives the fields that it has looked at. ``kinds``: bytes of a kind's descriptors, and whether it moves no data.
    """

    def __init__(
        self,
        geometry: Geometry,
        rules: Rules,
        refuse: Callable[[str, Bound], frozenset[str]],
        kinds: tuple[Callable[[int], int], Callable[[int], bool]],
    ) -> None:
        self._geometry = geometry
        self._rules = rules
        self._refuse = refuse
        self._size_of, self._is_system = kinds
        self._failures: dict[int, int] = {}
        self._known = _Known()
        self._batches: dict[int, _Resolved] = {}
        self._regions: tuple[ReferenceType[Memory], NDArray[np.int64]] | None = None

    def carry_out(self, kind: int, word: int, core: int, memory: Memory) -> bool:
        """Carry out a command by the plan of its form; False, and nothing is done, where it has none.

        ``word``: the descriptor as a number.
        """
        if not kernel.is_active():
            return False
        known = self._known
        for shape, numbers in known.shapes.get(kind, ()):
            locations = [slot.located(word, self._geometry) for slot in shape.slots]
            number = numbers.get(key_of(word, shape, locations, self._geometry))
            made = known.forms[number] if number is not None else None
            if made is None:
                continue
            return isinstance(made, Made) and _is_in_force(made) and _carry_out(made, locations, core, memory)
        return False

    def carry_out_some(self, commands: EncodedCommands, first: int, stop: int, memory: Memory) -> int:
        """Carry out commands from ``first`` on, at most to ``stop``; the first one that has to be by itself."""
        if not kernel.is_active():
            return first
        known, number = self._known, first // _AT_ONCE
        resolved = self._batches.get(number)
        if resolved is None or not resolved.serves(commands, memory, known, first):
            if len(self._batches) >= _MOST_BATCHES:
                self._batches.clear()
            batch = self._resolved(known, commands, number * _AT_ONCE, memory)
            resolved = self._batches[number] = _Resolved(batch, known, known.plans, first)
        resolved.reached = max(resolved.reached, first)
        batch = resolved.batch
        begin, end = first - batch.first, min(stop, batch.stop) - batch.first
        next_one = int(batch.numbers[begin])
        if next_one != NOTHING and (next_one == UNKNOWN or known.calls[next_one] is None):
            return first
        regions = self._regions
        if regions is None or regions[0]() is not memory:
            regions = self._regions = ref(memory), regions_of(memory)
        if not all(SEMANTICS.get(sub) is function for sub, function in known.functions.copy().items()):
            return first
        locations = batch.numbers, batch.spaces, batch.offsets, commands.cores[batch.first : batch.stop]
        done = kernel.run_batch(known.calls, locations, regions[1], begin, end)
        return batch.first + done

    def _resolved(self, known: _Known, commands: EncodedCommands, first: int, memory: Memory) -> Batch:
        """The forms of the commands that follow."""
        stop = min(commands.kinds.size, first + _AT_ONCE)
        kinds, offsets = commands.kinds[first:stop], commands.offsets[first:stop]
        count = stop - first
        numbers = np.full(count, UNKNOWN, np.int32)
        spaces, at = np.zeros((count, MOST_SLOTS), np.int8), np.zeros((count, MOST_SLOTS), np.int64)
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            if kind >= 0 and self._is_system(kind):
                numbers[rows] = NOTHING
                continue
            shapes = known.shapes.get(kind, [])
            if kind < 0 or not shapes:
                continue
            size = self._size_of(kind)
            raw = np.zeros((rows.size, size + 8), np.uint8)
            raw[:, :size] = commands.payload[offsets[rows][:, None] + np.arange(size)]
            resolved: list[tuple[Numbered, list[bytes], list[Locations]]] = []
            for numbered in shapes:
                if len(numbered.shape.slots) <= MOST_SLOTS:
                    locations = [locations_of(raw, slot, self._geometry) for slot in numbered.shape.slots]
                    resolved.append((numbered, keys_of(raw, numbered.shape, locations, self._geometry), locations))
            chosen = _chosen(known, [(numbered, keys) for numbered, keys, _ in resolved])
            for which, (_, _, locations) in enumerate(resolved):
                own = np.flatnonzero(chosen[:, 0] == which)
                numbers[rows[own]] = chosen[own, 1]
                for slot, (space, offset) in enumerate(locations):
                    spaces[rows[own], slot], at[rows[own], slot] = space[own], offset[own]
        return Batch(ref(commands), ref(memory), first, stop, numbers, spaces, at)

    def learn(self, name: str, bound: Bound, word: int, encoding: Encoding) -> None:
        """Make a plan for the form of a command ``name``, when it is met again."""
        if not kernel.is_active() or self._failures.get(bound.kind, 0) > _HOPELESS:
            return
        known, geometry = self._known, self._geometry
        shapes = known.shapes.setdefault(bound.kind, [])
        for shape, numbers in shapes:
            number = numbers.get(key_of(word, shape, [slot.located(word, geometry) for slot in shape.slots], geometry))
            seen = None if number is None else known.forms[number]
            if number is None or seen is None:
                continue
            if isinstance(seen, _NoPlan) and seen is not _NEVER:
                known.set(number, self._made(name, bound, encoding))
            return
        try:
            shape = addresses_of(bound, encoding).shape
        except _ERRORS:
            self._failures[bound.kind] = self._failures.get(bound.kind, 0) + 1
            # Everything but ids tells such a form from others: it is not tried again.
            names = [shared for shared, own in encoding.names.items() if own in encoding.ids]
            shape = Shape((), mask_without(names, encoding), encoding.instruction.size)
        self._remember(known, shapes, shape, word)

    def _remember(self, known: _Known, shapes: list[Numbered], shape: Shape, word: int) -> None:
        if len(known.forms) > _MOST:
            self._known = _Known()
            return
        numbers = next((forms for own, forms in shapes if own == shape), None)
        if numbers is None:
            numbers = {}
            shapes.append(Numbered(shape, numbers))
            self._batches.clear()  # their commands of this kind may have numbers now
        key = key_of(word, shape, [slot.located(word, self._geometry) for slot in shape.slots], self._geometry)
        known.set(known.add(numbers, key), _NoPlan(1) if shape.slots else _NEVER)

    def _made(self, name: str, bound: Bound, encoding: Encoding) -> Made | _NoPlan:
        try:
            form = form_of(bound, encoding)
            if self._refuse(name, form.bound) & form.bound.fields.without:
                raise Unplanned("an address that is refused where it is not zero")
            made = make(name, form, self._rules)
        except _ERRORS:
            self._failures[bound.kind] = self._failures.get(bound.kind, 0) + 1
            return _NEVER
        self._failures[bound.kind] = -_HOPELESS
        return made


def _chosen(known: _Known, shapes: list[tuple[Numbered, list[bytes]]]) -> NDArray[np.int32]:
    """Of each command which shape it has, and the number of its form; (commands, 2), -1: not known.

    A form that nobody has met yet gets a number of the first shape: if that is not its own, it is executed by itself.
    """
    pairs: list[tuple[int, int]] = []
    common = next((which for which, (numbered, _) in enumerate(shapes) if numbered.shape.slots), -1)
    for keys in zip(*[keys for _, keys in shapes], strict=True):
        for which, key in enumerate(keys):
            number = shapes[which][0].numbers.get(key, UNKNOWN)
            if number != UNKNOWN and known.forms[number] is not None:
                break
        else:
            which, number = common, UNKNOWN
            if common >= 0:
                numbers = shapes[common][0].numbers
                number = numbers.get(keys[common], UNKNOWN)
                if number == UNKNOWN and len(known.forms) < _MOST:
                    number = known.add(numbers, keys[common])
        pairs.append((which, number))
    return np.array(pairs, np.int32).reshape(-1, 2)


def _is_in_force(made: Made) -> bool:
    """Whether the function is still the one that a plan was made of: a plugin may put another one in its place."""
    return SEMANTICS.get(made.sub) is made.function


def _carry_out(made: Made, locations: list[Located], core: int, memory: Memory) -> bool:
    addresses: list[int] = []
    try:
        for number, low, high in made.slots:
            space, offset = locations[number]
            addresses += (memory.pointer(space, offset + low, offset + high, core) + offset, offset)
    except BadAccess:
        return False
    return kernel.run(made.calls, *addresses)
