"""Checks of what is computed: against a reference, and against another backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.control.exception_filter import Filter
from tdb_dap.engine.control.observers import NEVER, Observer
from tdb_dap.engine.control.stops import Finding, Stop
from tdb_dap.engine.reference.comparison import brief
from tdb_dap.engine.reference.name_patterns import fits

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.reference.comparison import Comparison
    from tdb_dap.engine.source.source_map import MappedTensor, OpRecord


MISMATCH = "mismatch"

BIRTH = "birth"
"""In the condition of the filter: stop only where an op makes something wrong out of what is right."""

ALL = "all"
"""The opposite, in a session, where going on from the first fault is to lead to the next one."""


class Difference(Finding, frozen=True):
    """A result is not the expected one. ``brief``: the text without single elements, for who shows those apart."""

    brief: str = ""


class Mismatch(Observer):
    """Compares the results of each op with the reference when the op has executed its last command.

    A tensor that several records write (one per core) is compared after the last of them. ``excepted``: patterns of
    names that are not compared. Where the inputs are not those of the reference it says so once, and stops nowhere.
    ``birth``: go on where an operand was wrong already, or was made of one that was, as far as that has been seen.
    """

    looks_back = True

    def __init__(self, excepted: tuple[str, ...] = (), birth: bool = False) -> None:
        self._excepted = excepted
        self._birth = birth
        self._last_of: dict[tuple[int, str, str], int] | None = None
        self._wrong_since: dict[str, int] = {}
        """Name of a tensor that is wrong, or made of one that is -> last command of the op that made it so."""
        self._sources: dict[str, tuple[str, ...]] | None = None
        self._is_comparable: bool | None = None
        """Whether the inputs are those of the reference; None: not checked yet."""

    @classmethod
    def of(cls, condition: str | None) -> Mismatch:
        """From what the user has written: names, and the word ``birth``, separated by commas."""
        words = [word.strip() for word in (condition or "").split(",") if word.strip()]
        return cls(tuple(word for word in words if word not in (BIRTH, ALL)), BIRTH in words)

    def after_op(self, inspector: Inspector, record: OpRecord) -> Finding | None:
        if inspector.reference is None or not self._has_its_inputs(inspector):
            return None
        inherits = any(
            self._wrong_since.get(name, record.last) < record.last
            for value in record.operands
            for name in (value.name, *self._same_as(inspector).get(value.name, ()))
        )
        finding: Finding | None = None
        for value in record.results:
            comparison = self._compared(inspector, record, value)
            is_wrong = inherits if comparison is None else comparison.verdict == "fail"
            if not is_wrong:
                continue
            self._wrong_since.setdefault(value.name, record.last)
            if finding is None and comparison is not None and not (self._birth and inherits):
                finding = _finding(record, value, comparison)
        return finding

    def changed_after(self, inspector: Inspector, moment: int) -> None:
        self._wrong_since = {name: since for name, since in self._wrong_since.items() if since < moment}

    def stopped(self, inspector: Inspector, stop: Stop) -> None:
        if stop.ordinal == 0:
            self._wrong_since.clear()

    def _same_as(self, inspector: Inspector) -> dict[str, tuple[str, ...]]:
        """Tensors that ops without commands (reshapes) make -> those that they are made of."""
        if self._sources is None:
            self._sources = {}
            for record in sorted(inspector.program.source.records, key=lambda record: (record.line, record.index)):
                for value in record.results if not record.ordinals else ():
                    names = (name for one in record.operands for name in (one.name, *self._sources.get(one.name, ())))
                    self._sources[value.name] = tuple(names)
        return self._sources

    def _compared(self, inspector: Inspector, record: OpRecord, value: MappedTensor) -> Comparison | None:
        """A result next to the reference; None if it is not to be compared, or only a part of it is there."""
        if value.view is None or self._excepts(inspector, value.name) or inspector.reference is None:
            return None
        return (
            inspector.reference.compare(inspector.machine, value)
            if self._is_complete(inspector, record, value.name)
            else None
        )

    def _has_its_inputs(self, inspector: Inspector) -> bool:
        """Whether the program runs on the inputs that the reference was made with, as far as it holds them."""
        if self._is_comparable is None and inspector.reference is not None:
            others = inspector.reference.other_inputs(inspector.machine)
            others = [name for name in others if not self._excepts(inspector, name)]
            self._is_comparable = not others
            if others:
                inspector.listener.note(
                    f"{', '.join(others)}: not the input that the reference was made with, so no op is compared; give "
                    "the input that belongs to the reference"
                )
        return self._is_comparable is not False

    def _excepts(self, inspector: Inspector, name: str) -> bool:
        return name in inspector.excepted or any(fits(name, pattern) for pattern in self._excepted)

    def _is_complete(self, inspector: Inspector, record: OpRecord, name: str) -> bool:
        if self._last_of is None:
            self._last_of = {}
            for other in inspector.program.source.records:
                for value in other.results if other.ordinals else ():
                    key = (other.line, value.name, other.slice_text)
                    self._last_of[key] = max(self._last_of.get(key, -1), other.last)
        return self._last_of[record.line, name, record.slice_text] == record.last


def _finding(record: OpRecord, value: MappedTensor, comparison: Comparison) -> Difference:
    place = f"{record.opcode} at line {record.line}" + (f", slice {record.slice_text}" if record.slice_text else "")
    metrics = comparison.metrics
    details = [*comparison.complaints, f"{metrics.bad_count:,} of {metrics.size:,} elements differ"]
    if metrics.first_bad_per_axis is not None:
        details.append(f"first on each axis: {list(metrics.first_bad_per_axis)}")
    if metrics.worst_channel is not None:
        details.append(f"worst channel: {metrics.worst_channel} of axis {metrics.channel_axis}")
    if metrics.max_ulp is not None:
        details.append(
            f"largest difference in steps of {value.memory_type.strip('<>').split('x')[-1]}: {metrics.max_ulp:g}"
        )
    return Difference(
        MISMATCH,
        f"{value.name} differs from the reference",
        f"{value.name} ({place}): {comparison.summary}",
        record.last,
        tuple(details),
        brief=f"{value.name} ({place}): {brief(comparison)}",
    )


class Diverging(Observer):
    """Stops after a command that two backends do not execute alike."""

    looks_back = True

    def next_look(self, inspector: Inspector) -> int:
        return inspector.ordinal if inspector.machine.compares else NEVER

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        text = inspector.machine.divergence
        if text is None:
            return None
        text = f"{command.place}: {text}"
        return Finding("divergence", "The vendor's simulator computes another result", text, command.ordinal)


CHECKS: tuple[Filter, ...] = (
    Filter(
        MISMATCH,
        "Differs from the reference",
        "Stop after an op whose result is not the expected one. Needs a reference.",
        Mismatch.of,
        default=True,
        condition=f"names not to compare, separated by commas; {ALL}: also where an operand is wrong already",
        needs_reference=True,
    ),
    Filter(
        "divergence",
        "Simulators disagree",
        "Stop after a command that the vendor's simulator executes differently. Needs the backend lockstep.",
        lambda condition: Diverging(),
        default=True,
        needs_lockstep=True,
    ),
)
