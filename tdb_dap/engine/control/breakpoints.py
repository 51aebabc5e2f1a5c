"""Breakpoints: where they are, when they count, and what they say instead of stopping."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from tdb_dap.engine.control.breakpoint_specs import BreakpointLocation, resolve
from tdb_dap.engine.control.logpoints import require_message
from tdb_dap.engine.expressions.evaluator import require_expression
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

When = Literal["before", "after"]

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "": operator.eq,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "%": lambda hits, every: every > 0 and hits % every == 0,
}


class Breakpoint(Struct, eq=False):
    """One breakpoint.

    ``text``: where, as the user wrote it (forms: ``breakpoint_specs``). ``condition``: expression that must be
    true. ``hit``: ``5``, ``>= 5``, ``% 3`` on the number of moments, counted from the start of the program, at which
    the place is reached with a true condition.
    ``log``: message to print instead of stopping, expressions in braces, with formats: ``{max(in[0]):.3f}``.
    ``when``: stop before the first or after the last command of the place. ``temporary``: gone after its first stop.
    """

    id: int
    text: str
    location: BreakpointLocation
    condition: str | None = None
    hit: str | None = None
    log: str | None = None
    when: When = "before"
    enabled: bool = True
    temporary: bool = False
    verdicts: dict[int, bool] = field(default_factory=dict[int, bool])
    """Ordinal -> whether the condition holds there, as far as it has been evaluated."""
    stops: dict[int, int] = field(default_factory=dict[int, int])
    """Ordinal at which to stop -> ordinal of the command it is about."""

    def __post_init__(self) -> None:
        if self.location.watched is not None:
            self.when = "after"
        if self.when == "before":
            self.stops = {first: first for first, _ in self.location.spans}
        else:
            self.stops = {last + 1: last for _, last in self.location.spans}
        if self.condition is not None:
            require_expression(self.condition)
        if self.log is not None:
            require_message(self.log)
        if self.hit is not None:
            parse_hit_condition(self.hit)

    @property
    def verified(self) -> bool:
        """Whether any command is at the place."""
        return bool(self.stops)

    @property
    def line(self) -> int | None:
        """The line it was moved to, for file lines."""
        return self.location.line

    @property
    def message(self) -> str:
        """Remark on where it was placed; empty if it is just where it was asked for."""
        return self.location.message

    @property
    def is_conditional(self) -> bool:
        """Whether reaching the place is not enough."""
        watched = self.location.watched
        return self.condition is not None or (watched is not None and watched.access == "change")

    def hits_until(self, ordinal: int) -> int:
        """Hits up to a moment; with a condition, those of the moments at which it has been evaluated."""
        if self.is_conditional:
            return sum(verdict for moment, verdict in self.verdicts.items() if moment <= ordinal)
        return sum(moment <= ordinal for moment in self.stops)

    def forget_after(self, ordinal: int) -> None:
        """Later moments are not what they were."""
        self.verdicts = {moment: verdict for moment, verdict in self.verdicts.items() if moment <= ordinal}


def parse_hit_condition(text: str) -> Callable[[int], bool]:
    """Predicate on the number of hits."""
    match = re.fullmatch(r"\s*(==|>=|>|<=|<|%|)\s*(\d+)\s*", text)
    if match is None:
        raise BadExpression(f"hit condition {quoted(text)} is not understood; write 5, >= 5, < 5 or % 5")
    compare, number = _COMPARISONS[match[1]], int(match[2])
    return lambda hits: compare(hits, number)


class Breakpoints:
    """The breakpoints of one session, indexed by the ordinals at which they stop."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._all: dict[int, Breakpoint] = {}
        self._at: dict[int, list[Breakpoint]] = {}
        self._next_id = 1

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(tuple(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, id: int) -> Breakpoint:
        if id not in self._all:
            raise BadExpression(f"there is no breakpoint {id}")
        return self._all[id]

    def add(
        self,
        text: str,
        condition: str | None = None,
        hit: str | None = None,
        log: str | None = None,
        when: When = "before",
        temporary: bool = False,
    ) -> Breakpoint:
        """Set a breakpoint at a place of any form (``breakpoint_specs``); BadExpression if the text has none of them.

        A place without commands gives a breakpoint that is not ``verified`` and says why in ``message``.
        """
        added = Breakpoint(
            self._next_id,
            text,
            resolve(self._program, text),
            condition or None,
            hit or None,
            log or None,
            when,
            temporary=temporary,
        )
        self._next_id += 1
        self._all[added.id] = added
        for ordinal in added.stops:
            self._at.setdefault(ordinal, []).append(added)
        return added

    def remove(self, breakpoint: Breakpoint) -> None:
        """Forget it; no error if it is gone already."""
        if self._all.pop(breakpoint.id, None) is not None:
            for ordinal in breakpoint.stops:
                self._at[ordinal].remove(breakpoint)

    def move(self, breakpoint: Breakpoint, ordinals: Iterable[int]) -> None:
        """Let it stop after these commands from now on."""
        for ordinal in breakpoint.stops:
            self._at[ordinal].remove(breakpoint)
        breakpoint.stops = {ordinal + 1: ordinal for ordinal in ordinals}
        for ordinal in breakpoint.stops:
            self._at.setdefault(ordinal, []).append(breakpoint)

    def clear(self) -> None:
        """Forget all of them."""
        self._all.clear()
        self._at.clear()

    def at(self, ordinal: int) -> list[Breakpoint]:
        """Enabled breakpoints that stop when ``ordinal`` commands have been executed, oldest first."""
        return [b for b in self._at.get(ordinal, ()) if b.enabled]

    def next_after(self, ordinal: int) -> int:
        """The nearest ordinal above ``ordinal`` with a breakpoint; one that no program has where there is none."""
        return min(
            (ordinal_at for ordinal_at, there in self._at.items() if ordinal_at > ordinal and there),
            default=sys.maxsize,
        )

    def stops_before(self, ordinal: int) -> Iterator[int]:
        """Ordinals below ``ordinal`` with an enabled breakpoint, nearest first."""
        return iter(
            sorted(
                (o for o, breakpoints in self._at.items() if o < ordinal and any(b.enabled for b in breakpoints)),
                reverse=True,
            )
        )
