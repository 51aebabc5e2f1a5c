"""Plans kept by form, and carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.errors import BadAccess, TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.declaration.family import Bound
from tdb_dap.targets.plans.forms import Encoding, Located, Shape, addresses_of, form_of, lane_of, mask_without
from tdb_dap.targets.plans.making import Made, make
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.registry import Unplanned
from tdb_dap.targets.semantics.rules import Rules

_WORTH_A_THREAD = 1 << 17
"""Elements from which on a second thread pays."""
_MANY = 1 << 21
"""Products from which on they are summed up in parts."""
_MOST = 1 << 14
"""Forms that are kept."""
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
)
"""What keeps a form from having a plan; its commands are executed as they were before, and say what is wrong."""


class _NoPlan(NamedTuple):
    """A form of which so many commands were seen."""

    seen: int


_NEVER = _NoPlan(-1)
Known = dict[tuple[int, ...], "Made | _NoPlan"]


class Plans:
    """The plans of one chip. ``refuse``: raises for commands that ask for something that is not simulated;
    it gives the fields that it has looked at.
    """

    def __init__(self, geometry: Geometry, rules: Rules, refuse: Callable[[str, Bound], frozenset[str]]) -> None:
        self._geometry = geometry
        self._rules = rules
        self._refuse = refuse
        self._shapes: dict[int, list[tuple[Shape, Known]]] = {}
        self._failures: dict[int, int] = {}
        self._count = 0

    def carry_out(self, kind: int, word: int, core: int, memory: Memory) -> bool:
        """Carry out a command by the plan of its form; False, and nothing is done, where it has none.

        ``word``: the descriptor as a number.
        """
        if not kernel.is_active():
            return False
        for shape, known in self._shapes.get(kind, ()):
            places = [spot.located(word, self._geometry) for spot in shape.spots]
            made = known.get(self._key(word, shape, places))
            if made is None:
                continue
            return isinstance(made, Made) and _is_in_force(made) and _carry_out(made, places, core, memory)
        return False

    def learn(self, name: str, bound: Bound, word: int, encoding: Encoding) -> None:
        """Make a plan for the form of a command ``name``, when it is met again."""
        if not kernel.is_active() or self._failures.get(bound.kind, 0) > _HOPELESS:
            return
        geometry, shapes = self._geometry, self._shapes.setdefault(bound.kind, [])
        for shape, known in shapes:
            key = self._key(word, shape, [spot.located(word, geometry) for spot in shape.spots])
            seen = known.get(key)
            if seen is None:
                continue
            if isinstance(seen, _NoPlan) and seen is not _NEVER:
                known[key] = self._made(name, bound, encoding)
            return
        try:
            shape = addresses_of(bound, encoding).shape
        except _ERRORS:
            self._failures[bound.kind] = self._failures.get(bound.kind, 0) + 1
            # Everything but ids tells such a form from others: it is not tried again.
            names = [shared for shared, own in encoding.names.items() if own in encoding.ids]
            shape = Shape((), mask_without(names, encoding))
        self._remember(shapes, shape, word)

    def _remember(self, shapes: list[tuple[Shape, Known]], shape: Shape, word: int) -> None:
        if self._count > _MOST:
            self._shapes.clear()
            self._count = 0
            return
        known = next((found for own, found in shapes if own == shape), None)
        if known is None:
            known = {}
            shapes.append((shape, known))
        key = self._key(word, shape, [spot.located(word, self._geometry) for spot in shape.spots])
        known[key] = _NoPlan(1) if shape.spots else _NEVER
        self._count += 1

    def _key(self, word: int, shape: Shape, places: list[Located]) -> tuple[int, ...]:
        return (word & shape.mask, *[lane_of(place, self._geometry) for place in places])

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


def _is_in_force(made: Made) -> bool:
    """Whether the function is still the one that a plan was made of: a plugin may put another one in its place."""
    return SEMANTICS.get(made.sub) is made.function


def _carry_out(made: Made, places: list[Located], core: int, memory: Memory) -> bool:
    addresses: list[int] = []
    try:
        for number, low, high in made.spots:
            space, offset = places[number]
            addresses += (memory.pointer(space, offset + low, offset + high, core) + offset, offset)
    except BadAccess:
        return False
    if made.sums is not None:
        rows, count, columns = made.sums
        if rows * count * columns < _MANY:
            return kernel.carry_out(made.calls, 0, 1, *addresses)
        return kernel.sum_up(made.calls, (rows, columns), count, *addresses)
    parts = min(kernel.threads(), made.size // _WORTH_A_THREAD)
    if parts < 2:
        return kernel.carry_out(made.calls, 0, 1, *addresses)
    done: list[bool] = []
    kernel.side_by_side(range(parts), lambda part: done.append(kernel.carry_out(made.calls, part, parts, *addresses)))
    # A result over its operand has to be written in order.
    return all(done) or (not any(done) and kernel.carry_out(made.calls, 0, 1, *addresses))
