"""Forms of commands that were described before; other commands of a form differ in the bits of their addresses."""

from __future__ import annotations

from collections.abc import Sequence

from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.target import Form
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import TdbError
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.declaration.family import Bound
from tdb_dap.targets.plans.forms import Encoding, NoRegisters, Shape, addresses_of, form_of, place_of

_MOST = 1 << 14
"""Forms that are kept."""
_HOPELESS = 16
"""Forms of a kind that are none, from which on its other ones are not tried, if none of them is one."""
_ERRORS = (Unplanned, TdbError, KeyError, ValueError, IndexError, TypeError, AttributeError, ArithmeticError)
"""What makes a command differ from others in more than its addresses."""

Known = dict[tuple[int, ...], tuple[Form, tuple[int, ...]]]
"""Bits that are no addresses, core, lanes and alignments -> the form, and the number of the location of each tensor."""


class ObservedForms:
    """The forms of one chip."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._shapes: dict[int, list[tuple[Shape, Known]]] = {}
        self._failures: dict[int, int] = {}
        self._count = 0

    def find(self, kind: int, word: int, core: int) -> tuple[Form, Sequence[int]] | None:
        """The form of a command and the addresses of its tensors. ``word``: the descriptor as a number."""
        geometry = self._geometry
        for shape, known in self._shapes.get(kind, ()):
            locations = [slot.located(word, geometry, None) for slot in shape.slots]
            observed = known.get((word & shape.mask, core, *[place_of(location, geometry) for location in locations]))
            if observed is not None:
                form, numbers = observed
                return form, [locations[number][1] for number in numbers]
        return None

    def add(self, bound: Bound, word: int, encoding: Encoding) -> None:
        """Keep the form of a command, if addresses change only the offsets of its tensors."""
        kind, geometry = bound.kind, self._geometry
        if self._failures.get(kind, 0) > _HOPELESS or self._count > _MOST:
            return
        try:
            addresses = addresses_of(bound, encoding)
            numbers, shape = form_of(bound, addresses, NoRegisters()).numbers, addresses.shape
            if shape.needs_registers:
                raise Unplanned("an address in a register")
        except _ERRORS:
            self._failures[kind] = self._failures.get(kind, 0) + 1
            return
        self._failures[kind] = -_HOPELESS
        shapes = self._shapes.setdefault(kind, [])
        known = next((forms for own, forms in shapes if own == shape), None)
        if known is None:
            known = {}
            shapes.append((shape, known))
        sides = [
            [(role, view) for role, view in side.items() if isinstance(view, View)]
            for side in (bound.operands, bound.results)
        ]
        form = Form(*[tuple([view for _, view in side]) for side in sides])
        locations = [slot.located(word, geometry, None) for slot in shape.slots]
        key = (word & shape.mask, bound.fields.core, *[place_of(location, geometry) for location in locations])
        known[key] = form, tuple([numbers[role] for side in sides for role, _ in side])
        self._count += 1
