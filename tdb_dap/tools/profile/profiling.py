"""The time of every command of a program, and what it adds up to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from tdb_dap.engine.hardware.target import Cost
from tdb_dap.engine.program.forms import Forms
from tdb_dap.errors import NotSimulated
from tdb_dap.tools.profile.compiler_table import compiler_cycles
from tdb_dap.tools.profile.schedule import Span, measured_schedule, schedule

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.op_records import OpRecord
    from tdb_dap.tools.profile.measured import Measured

_EVERY = 256

Origin = Literal["measured", "not measured", "compiler", "estimate"]
"""Where the time of a command comes from."""


class Timed(Struct, frozen=True):
    """One command. ``estimated``: by our formulas; ``given``: by the compiler, where its tables hold the command.

    ``expected``: the one of them that is believed; ``origin``: of the span; ``record``: the op instance that it belongs
    to.
    """

    command: Command
    cost: Cost
    given: int | None
    span: Span
    record: OpRecord | None
    expected: float
    origin: Origin

    @property
    def estimated(self) -> float:
        return self.cost.cycles

    @property
    def cycles(self) -> float:
        """Cycles that the schedule is made with."""
        return self.span.stop - self.span.start


class Costs:
    """The estimates of a program's commands, made in their order and kept.

    ``known``: of the first commands. ``unknown``: (ordinal, why) of what no time is known of; it counts as none.
    ``measured``: times of a board to compare with.
    """

    def __init__(self, program: Program, measured: Measured | None = None) -> None:
        self._program = program
        self.measured = measured
        self.known: list[Cost] = []
        self.unknown: list[tuple[int, str]] = []
        self.given = compiler_cycles(program)
        self._forms = Forms(program.commands)
        self._of_alike: dict[Hashable, Cost] = {}

    @property
    def is_complete(self) -> bool:
        return len(self.known) == len(self._program.commands)

    def figure(self, command: Command) -> int | None:
        """Cycles by the compiler, where its tables hold the command."""
        return self.given.get((command.core, command.engine, command.id))

    def extend(self, is_enough: Callable[[int], bool] = lambda done: False) -> None:
        """Estimate further commands until all are known, or ``is_enough`` says so of their number."""
        for ordinal in range(len(self.known), len(self._program.commands)):
            if ordinal % _EVERY == 0 and is_enough(ordinal):
                return
            self.known.append(self._cost(ordinal))

    def _cost(self, ordinal: int) -> Cost:
        program = self._program
        alike = self._alike(ordinal)
        cost = self._of_alike.get(alike) if alike is not None else None
        if cost is not None:
            return cost
        command = program.commands[ordinal]
        if not command.has_descriptor:
            self.unknown.append((ordinal, f"{command.engine} subnet: runs elsewhere"))
            return Cost(0)
        try:
            cost = program.target.cost(command.description)
        except NotSimulated as error:
            self.unknown.append((ordinal, str(error)))
            return Cost(0)
        if cost is None:
            self.unknown.append((ordinal, f"the speed of {program.chip} is not known"))
            return Cost(0)
        if alike is None:
            self._forms.meet(command)
            alike = self._alike(ordinal)
        if alike is not None:
            self._of_alike[alike] = cost
        return cost

    def _alike(self, ordinal: int) -> Hashable | None:
        """Equal for commands that cost the same: of one form, and with the same of their tensors in one place."""
        observed = self._forms.of(ordinal)
        if observed is None:
            return None
        form, addresses = observed
        return form, tuple([addresses.index(address) for address in addresses])


class Profile:
    """A profile of a program. ``unknown``: (ordinal, why) of what no time is known of; it counts as none.

    ``use_compiler``: take the compiler's own figures where it has left any. ``costs``: estimates made before.
    """

    def __init__(
        self,
        program: Program,
        use_compiler: bool = True,
        progress: Callable[[int], None] = lambda done: None,
        costs: Costs | None = None,
    ) -> None:
        def report(done: int) -> bool:
            progress(done)
            return False

        self.program = program
        self.clock = program.target.clock
        costs = Costs(program) if costs is None else costs
        costs.extend(report)
        self.unknown = costs.unknown
        self.has_compiler_figures = bool(costs.given)
        figures = [costs.figure(command) for command in program.commands]
        chosen = [
            figure if use_compiler and figure is not None else cost.cycles
            for cost, figure in zip(costs.known, figures, strict=True)
        ]
        self.measured = costs.measured
        seen = self.measured.spans if self.measured else None
        spans = schedule(program, chosen) if seen is None else measured_schedule(program, seen)

        def origin(ordinal: int, figure: int | None) -> Origin:
            if seen is not None:
                return "measured" if ordinal in seen else "not measured"
            return "estimate" if figure is None or not use_compiler else "compiler"

        records = {ordinal: record for record in program.source.records for ordinal in record.ordinals}
        self.commands = [
            Timed(command, cost, figure, span, records.get(command.ordinal), expected, origin(command.ordinal, figure))
            for command, cost, figure, span, expected in zip(
                program.commands, costs.known, figures, spans, chosen, strict=True
            )
        ]

    @property
    def total(self) -> float:
        """Cycles from the start of the first command to the end of the last."""
        return max((timed.span.stop for timed in self.commands), default=0.0)

    def busy(self, core: int, engine: str) -> float:
        """Cycles in which an engine works."""
        return sum(t.cycles for t in self.commands if t.command.core == core and t.command.engine == engine)

    def overlap(self, core: int) -> float:
        """Cycles in which both engines of a core work."""
        return sum(stop - start for start, stop in _common(self._spans(core, "tiu"), self._spans(core, "dma")))

    def _spans(self, core: int, engine: str) -> list[Span]:
        return [t.span for t in self.commands if t.command.core == core and t.command.engine == engine and t.cycles > 0]

    def milliseconds(self, cycles: float) -> float | None:
        """Time at the chip's clock."""
        return cycles / (self.clock * 1e3) if self.clock else None


def _common(a: list[Span], b: list[Span]) -> Iterator[tuple[float, float]]:
    """Overlap of two lists of ascending spans."""
    i = j = 0
    while i < len(a) and j < len(b):
        start, stop = max(a[i].start, b[j].start), min(a[i].stop, b[j].stop)
        if start < stop:
            yield start, stop
        if a[i].stop < b[j].stop:
            i += 1
        else:
            j += 1
