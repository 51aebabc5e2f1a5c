"""Going back stops wherever going forwards would: the same moments, in the opposite order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import Finding, Stop
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT
from tdb_dap.errors import BadExpression
from tdb_dap.tools.opening import open_debugger
from tests.conftest import Toy
from tests.heard import Heard
from tests.known import view_of
from tests.samples import case


@pytest.fixture(params=[DEFAULT_LIMIT, 100_000, 0], ids=["all history", "little", "none"])
def debugger(request: pytest.FixtureRequest, toy: Toy) -> Debugger:
    opened = open_debugger(toy.directory, toy.inputs, toy.reference, history_limit=request.param)
    opened.listener = Heard()
    return opened


def moments(go: Callable[[], Stop]) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    while (stop := go()).reason not in ("end", "entry"):
        found.append((stop.reason, stop.ordinal, stop.focus))
    return found


def there_and_back(debugger: Debugger) -> list[tuple[str, int, int]]:
    """Every stop on the way to the end; those on the way back from it must be the same."""
    forwards = moments(debugger.run)
    backwards = moments(debugger.reverse)
    assert backwards == before_the_end(debugger, forwards)[::-1]
    return forwards


def before_the_end(debugger: Debugger, found: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    return [stop for stop in found if stop[1] < len(debugger.program.commands)]


@pytest.mark.parametrize(
    ("text", "more", "ordinals"),
    [
        ("arith.*", {"hit": "2"}, [10]),
        ("arith.*", {"hit": "% 4"}, None),
        ("tpu.Load", {"hit": ">= 3"}, None),
        ("tpu.*", {"condition": "max(in[0]) > 3", "hit": "% 2"}, None),
        ("conv.normal", {"when": "after"}, [4, 9]),
        ("data:G0xd000+64:readWrite", {}, [29, 30, 58]),
        ("data:G0xd000+64:write", {"hit": "2"}, [58]),
    ],
)
def test_hits_and_conditions_are_points_in_time(
    debugger: Debugger, text: str, more: dict[str, Any], ordinals: list[int]
) -> None:
    debugger.breakpoints.add(text, **more)
    found = [ordinal for _, ordinal, _ in there_and_back(debugger)]
    assert found
    if ordinals is not None:
        assert found == ordinals


def test_a_hit_condition_that_comes_late_counts_what_was_before(debugger: Debugger) -> None:
    debugger.travel(len(debugger.program.commands))
    debugger.breakpoints.add("tpu.Load", condition="max(in[0]) > 0", hit="2")
    here = debugger.reverse()
    assert here.reason == "breakpoint"
    debugger.travel(0)
    assert debugger.run().ordinal == here.ordinal


def test_a_temporary_breakpoint_is_gone_after_its_stop_on_the_way_back(debugger: Debugger) -> None:
    debugger.travel(20)
    debugger.breakpoints.add("conv.normal", temporary=True)
    assert debugger.reverse().ordinal == 8
    assert debugger.reverse().reason == "entry"


def test_exception_filters_count_on_the_way_back(debugger: Debugger) -> None:
    debugger.travel(5)
    debugger.write("%16", 0)
    debugger.travel(len(debugger.program.commands))
    debugger.set_checks(filters_named({"mismatch": None}))
    found = moments(debugger.reverse)
    assert found[-1] == ("exception", 6, 5)
    debugger.travel(5)
    debugger.write("%16", 0)
    assert before_the_end(debugger, moments(debugger.run)) == found[::-1]


def test_what_an_observer_found_on_the_way_stops_the_way_back(debugger: Debugger) -> None:
    class Third(Observer):
        seen = 0

        def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
            self.seen += 1
            if self.seen == 3:
                return Finding("third", "third", "the third command", command.ordinal)
            return None

    debugger.observers.append(Third())
    assert debugger.run().ordinal == 3
    debugger.travel(20)
    stop = debugger.reverse()
    assert (stop.reason, stop.ordinal) == ("exception", 3)
    debugger.travel(2)
    debugger.write("G53248:f32[4]", 1)  # another run from here on: what was found behind this moment is not known of it
    debugger.travel(20)
    assert debugger.reverse().reason == "entry"


def test_conditions_are_evaluated_again_where_an_edit_has_changed_the_past(debugger: Debugger) -> None:
    debugger.breakpoints.add("tpu.Pool2D", condition="max(in[0]) > 3")
    first = debugger.run().ordinal
    assert first == 5
    debugger.travel(4)
    debugger.travel(5)
    debugger.write("%16", 0)
    debugger.travel(20)
    assert debugger.reverse().ordinal == 5  # the condition was looked at before the edit of that moment
    debugger.travel(4)
    debugger.write(view_of(debugger.program.commands[3].results[0]), -1)
    debugger.travel(20)
    assert debugger.reverse().reason == "entry"


def test_what_overlaps_is_exact_to_the_byte(toy: Toy) -> None:
    debugger = tdb_dap.open(toy.directory, inputs=toy.inputs)
    with pytest.raises(BadExpression, match="not a breakpoint"):
        debugger.breakpoints.add("data:R:write")
    whole = debugger.breakpoints.add("data:R0x4000+4*4/0x40000:write").stops
    gap = debugger.breakpoints.add("data:R0x3fff+1:write").stops
    assert whole
    assert set(whole) != set(gap)


def test_the_last_writer_is_not_somebody_beside_it() -> None:
    debugger = tdb_dap.open(case("toy_bm1684x_f16").path, inputs=case("toy_bm1684x_f16").inputs)
    debugger.run()
    commands = debugger.program.commands
    for command in commands[:20]:
        if command.is_system or not command.results:
            continue
        debugger.travel(command.ordinal + 1)
        before = debugger.machine.memory.read(view_of(command.results[0]))
        debugger.travel(command.ordinal)
        changed = np.argwhere(debugger.machine.memory.read(view_of(command.results[0])) != before)
        debugger.travel(command.ordinal + 1)
        if len(changed):
            from tdb_dap.engine.hardware.byte_ranges import ByteRanges

            place = ByteRanges.of(view_of(command.results[0]), (tuple(changed[0]),))
            assert debugger.machine.accesses.last_writer(place, debugger.ordinal) == command.ordinal
