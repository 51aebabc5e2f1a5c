"""Moments of a run at which a condition turns true and false again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.control.breakpoint_specs import spans_of_records
from tdb_dap.engine.expressions.assignment import part_named
from tdb_dap.engine.expressions.evaluator import NotYetComputed, pinned, require_expression
from tdb_dap.engine.expressions.lexer import names_operands, places_in
from tdb_dap.engine.questions.passes import Pass, Progress, ignore
from tdb_dap.engine.questions.tracing import Place
from tdb_dap.errors import BadExpression, TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.control.inspector import Inspector


class Stretch(Struct, frozen=True):
    """A stretch of the run in which a condition is true. ``place``: where it turns true; ``until``: where it does not
    hold any more, None for the end of the run; ``why``: why not, ``false`` or what cannot be read.
    """

    place: Place
    until: Place | None = None
    why: str = ""


class Turns(Struct, frozen=True):
    """``stretches``: in their order; ``looked``: moments at which the condition was evaluated; ``pending``: those of
    them at which its numbers were not computed yet; ``undecided``: those at which it could not be evaluated for
    another reason, of which ``why`` is the last; ``stopped``: why the run ended early.
    """

    condition: str
    stretches: tuple[Stretch, ...]
    looked: int
    pending: int
    undecided: int
    why: str
    stopped: str


# By one pass, not by bisection over checkpoints. Bisection is right only for a condition that stays true, which is not
# known before it was looked at everywhere, and moments ahead have no checkpoint: they have to be executed once anyway.
# On the 218 commands of tests/data/contexts/neck_bm1684x_int8 a run takes 0.07 s of processor time, the pass with its
# 70 looks 0.17 s.
def turns(inspector: Inspector, condition: str, progress: Progress = ignore) -> Turns:
    """Stretches of the run in which the condition is true.

    It is looked at when each op has ended, and after each command that writes to memory that it names by address (in a
    program without ops, after each command), and at the start unless it names ``in``, ``out`` or ``ref``: these are
    of the op that has just ended. BadExpression if it can be evaluated nowhere.
    """
    require_expression(condition)
    pinned_condition = pinned(condition, "", inspector.last_stop.core)
    going = Pass(inspector, progress)
    stretches: list[Stretch] = []
    looked = pending = undecided = 0
    why = ""
    since: Place | None = None
    with going.beside():
        for moment in going.moments(_moments(inspector, pinned_condition)):
            if moment and inspector.machine.passes_over(moment - 1):
                continue
            place = Place.of(inspector.program, moment, max(0, moment - 1))
            looked += 1
            reason = "false"
            try:
                scope = inspector.scope(place.focus, "op")
                holds = bool(inspector.evaluate_computed(pinned_condition, scope).array.any())
            except NotYetComputed as error:
                holds, reason = False, str(error)
                pending += 1
            except TdbError as error:
                holds, reason = False, str(error)
                undecided += 1
                why = reason
            if holds and since is None:
                since = place
            elif not holds and since is not None:
                stretches.append(Stretch(since, place, reason))
                since = None
    if since is not None:
        stretches.append(Stretch(since))
    if looked and undecided == looked:
        raise BadExpression(why)
    return Turns(condition, tuple(stretches), looked, pending, undecided, why, going.stopped)


def _moments(inspector: Inspector, condition: str) -> list[int]:
    program = inspector.program
    spans = spans_of_records(program.source.records)
    if not spans:
        return list(range(int(names_operands(condition)), len(program.commands) + 1))
    moments = {last + 1 for _, last in spans}
    if not names_operands(condition):
        moments.add(0)
    for place in _named(inspector, condition):
        moments.update(ordinal + 1 for ordinal in place)
    return sorted(moments)


def _named(inspector: Inspector, condition: str) -> Iterator[Iterator[int]]:
    """The commands that write to each place that the condition names by address."""
    for text in places_in(condition):
        ranges = part_named(text, inspector.scope(0, "command")).ranges
        yield inspector.machine.accesses.touching(ranges, reads=False, writes=True)
