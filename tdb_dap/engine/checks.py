"""Exception filters: checks that can be switched on to stop where something goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdb_dap.engine.observers import Observer
from tdb_dap.engine.stops import Finding

if TYPE_CHECKING:
    from tdb_dap.engine.commands import Command
    from tdb_dap.engine.debugger import Debugger
    from tdb_dap.engine.source_map import OpRecord


@dataclass(frozen=True)
class Filter:
    """One check as the user sees it. ``condition``: what can be written to narrow it, if anything."""

    name: str
    label: str
    description: str
    make: Callable[[str | None], Observer]
    default: bool = False
    condition: str | None = None
    needs_reference: bool = False
    needs_lockstep: bool = False


FILTERS: dict[str, Filter] = {}
"""Every exception filter by its name."""


class Mismatch(Observer):
    """Compares the results of each op with the reference when the op has executed its last command.

    A tensor that several records write (one per core) is compared after the last of them. ``excepted``: names that
    are not compared.
    """

    looks_back = True

    def __init__(self, excepted: frozenset[str] = frozenset()) -> None:
        self._excepted = excepted
        self._last_of: dict[tuple[int, str, str], int] | None = None

    def after_op(self, debugger: Debugger, record: OpRecord) -> Finding | None:
        if debugger.reference is None:
            return None
        for value in record.results:
            if value.view is None or value.name in self._excepted | debugger.excepted:
                continue
            if not self._is_complete(debugger, record, value.name):
                continue
            comparison = debugger.reference.compare(debugger.machine, value)
            if comparison is not None and comparison.verdict == "fail":
                place = f"{record.opcode} at line {record.line}" + (
                    f", slice {record.slice_text}" if record.slice_text else ""
                )
                return Finding(
                    "mismatch",
                    f"{value.name} differs from the reference",
                    f"{value.name} ({place}): {comparison.summary}",
                    record.last,
                )
        return None

    def _is_complete(self, debugger: Debugger, record: OpRecord, name: str) -> bool:
        if self._last_of is None:
            self._last_of = {}
            for other in debugger.program.source.records:
                for value in other.results if other.ordinals else ():
                    key = (other.line, value.name, other.slice_text)
                    self._last_of[key] = max(self._last_of.get(key, -1), other.last)
        return self._last_of[record.line, name, record.slice_text] == record.last


FILTERS["mismatch"] = Filter(
    "mismatch",
    "Differs from the reference",
    "Stop after an op whose result is not the expected one. Needs a reference.",
    lambda condition: Mismatch(frozenset(part.strip() for part in (condition or "").split(",") if part.strip())),
    condition="names not to compare, separated by commas",
    needs_reference=True,
)


class Diverging(Observer):
    """Stops after a command that two backends do not execute alike."""

    looks_back = True

    def after_command(self, debugger: Debugger, command: Command) -> Finding | None:
        text = debugger.machine.divergence
        if text is None:
            return None
        where = f"command {command.ordinal} ({command.token} {command.name})"
        return Finding(
            "divergence", "The vendor's simulator computes something else", f"{where}: {text}", command.ordinal
        )


FILTERS["divergence"] = Filter(
    "divergence",
    "Backends diverge",
    "Stop after a command that the vendor's simulator executes differently. Needs the backend lockstep.",
    lambda condition: Diverging(),
    default=True,
    needs_lockstep=True,
)
