"""Commands executed by the plans of their forms, one or many at a time."""

from __future__ import annotations

from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import EncodedCommands, Watched
from tdb_dap.errors import BadAccess
from tdb_dap.targets import kernel
from tdb_dap.targets.plans import kept as kept_plans
from tdb_dap.targets.plans.batches import NOTHING, Batch, regions_of
from tdb_dap.targets.plans.forms import Located, Registers
from tdb_dap.targets.plans.kept import KeptPlans
from tdb_dap.targets.plans.known import Instructions, Known
from tdb_dap.targets.plans.making import Made
from tdb_dap.targets.plans.unpacking import Unpacked
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.semantics import SEMANTICS

_AT_ONCE = 1 << 11
"""Commands of a batch."""
_MOST_BATCHES = 1 << 6
"""Batches that are kept."""


class Plans:
    """The plans of one chip."""

    def __init__(self, chip: Instructions, rules: Rules, name: str, like: Plans | None = None) -> None:
        """``name``: what tells the chip from all others in files of plans; empty: no plans are kept.

        ``like``: plans of the same chip with other addresses, whose forms are these plans' as well.
        """
        self._chip = chip
        self._name = name
        self._rules = rules
        self._known: Known = Known(chip, rules) if like is None else like._known.at(chip)
        self._batches: dict[int, Batch] = {}
        self._program: tuple[ReferenceType[EncodedCommands], KeptPlans | None] | None = None
        self._recalled: EncodedCommands | None = None
        self._regions: tuple[ReferenceType[Memory], NDArray[np.int64]] | None = None
        self._unpacked = Unpacked()
        self._looked_at = (0, 0)
        """Forms, and batches, when those to keep were looked at for the last time."""
        self._by_one = set[int]()
        """Forms of the program's commands that were executed one by one."""

    def recall(self, commands: EncodedCommands) -> None:
        """Load the plans that are kept of a program before the first of its commands is executed."""
        self._recalled = commands

    def carry_out(
        self, kind: int, descriptor: bytes, core: int, memory: Memory, registers: Registers | None = None
    ) -> bool:
        """Carry out a command by the plan of its form; False, and nothing is done, where it has none."""
        if not kernel.is_active():
            return False
        recalled, self._recalled = self._recalled, None
        if recalled is not None:
            self._kept(recalled)
        known = self._known_now()
        form = known.find(kind, int.from_bytes(descriptor, "little"), registers)
        if form is None:
            form = known.meet(kind, descriptor, core, registers)
        if form is not None:
            self._by_one.add(form.number)
        made = None if form is None else known.plans[form.number]
        if form is None or made is None or made.unpacks is not None or SEMANTICS.get(made.sub) is not made.function:
            return False
        return _carry_out(made, form.locations, core, memory)

    def carry_out_some(
        self, commands: EncodedCommands, first: int, stop: int, memory: Memory, watched: Watched | None = None
    ) -> int:
        """Carry out commands from ``first`` on, at most to ``stop``; the first one that has to be by itself."""
        if watched is not None:
            watched.is_found = False
        if not kernel.is_active():
            return first
        kept, known, number = self._kept(commands), self._known_now(), first // _AT_ONCE
        batch = self._batches.get(number)
        if batch is None or not batch.holds(commands, known):
            if len(self._batches) >= _MOST_BATCHES:
                self._batches.clear()
            end = min(commands.kinds.size, (number + 1) * _AT_ONCE)
            batch = self._batches[number] = Batch(self._chip, known, commands, number * _AT_ONCE, end)
        begin, end = first - batch.first, min(stop, batch.stop) - batch.first
        batch.decide(begin, end)
        extent = len(known.plans), len(self._batches)
        if kept is not None and batch.first + end == commands.kinds.size and extent != self._looked_at:
            self._looked_at = extent
            self.keep()
        next_one = int(batch.numbers[begin])
        if next_one != NOTHING and (next_one < 0 or known.calls[next_one] is None):
            return first
        regions = self._regions
        if regions is None or regions[0]() is not memory:
            regions = self._regions = ref(memory), regions_of(memory)
        # A plugin may put another function in the place of one that plans were made of.
        if not all(SEMANTICS.get(sub) is function for sub, function in known.functions.copy().items()):
            return first
        end, spaces, offsets, _numbers = self._unpacked.located(batch, known, begin, end, memory)
        if begin == end:
            return first
        locations = batch.numbers, spaces, offsets, commands.cores[batch.first : batch.stop]
        formats = None if watched is None else watched.of(batch.first, batch.stop)
        done, may_be_nan = kernel.run_batch(known.calls, locations, formats, regions[1], begin, end)
        if watched is not None:
            watched.is_found = may_be_nan
        if done == begin:
            batch.is_single[begin] = True
        return batch.first + done

    def keep(self) -> None:
        """Keep the plans of the last program for other processes, if the file has less of them."""
        program = self._program
        commands, kept = (program[0](), program[1]) if program is not None else (None, None)
        if commands is None or kept is None:
            return
        known = self._known_now()
        own = [each.numbers for each in self._batches.values() if each.holds(commands, known)]
        in_batches = {number for each in own for number in distinct(np.maximum(each, -1)) if number >= 0}
        kept.save(known, in_batches | {number for number in self._by_one if number < len(known.plans)})

    def coverage(self, commands: EncodedCommands) -> dict[int, tuple[int, int]]:
        """Kind -> how many commands change memory, and how many of these have no plan; nothing is executed."""
        known, count = Known(self._chip, self._rules), commands.kinds.size
        batch = Batch(self._chip, known, commands, 0, count)
        batch.decide(0, count)
        shares: dict[int, tuple[int, int]] = {}
        for kind, number in zip(commands.kinds.tolist(), batch.numbers.tolist(), strict=True):
            if kind >= 0 and number != NOTHING:
                all_of_kind, without = shares.get(kind, (0, 0))
                shares[kind] = all_of_kind + 1, without + (number < 0 or known.calls[number] is None)
        return shares

    def _kept(self, commands: EncodedCommands) -> KeptPlans | None:
        """The file of a program's plans, loaded when the program is new."""
        if self._program is None or self._program[0]() is not commands:
            kept = KeptPlans(self._name, commands, self._chip.size) if self._name and kept_plans.are_wanted() else None
            self._program = ref(commands), kept
            self._looked_at = (0, 0)
            self._by_one.clear()
            if kept is not None:
                kept.load(self._known_now())
        return self._program[1]

    def _known_now(self) -> Known:
        if self._known.is_full:
            self._known = Known(self._chip, self._rules)
        return self._known


def _carry_out(made: Made, locations: list[Located], core: int, memory: Memory) -> bool:
    addresses: list[int] = []
    try:
        for number, low, high in made.slots:
            space, offset = locations[number]
            addresses += (memory.pointer(space, offset + low, offset + high, core) + offset, offset)
    except BadAccess:
        return False
    return kernel.run(made.calls, *addresses)
