"""Questions about all of a run: each answer is what going to every moment and looking there gives."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.expressions.assignment import part_named
from tdb_dap.engine.questions.search import search
from tdb_dap.engine.questions.trace_points import TracePoint, parse
from tdb_dap.engine.questions.tracing import trace
from tdb_dap.engine.questions.turning import turns
from tdb_dap.engine.questions.versions import history
from tdb_dap.errors import BadExpression
from tdb_dap.notebook import InteractiveDebugger
from tests.samples import DATA

MODELS = [
    DATA / "bm1684x" / "toy_bm1684x_f32",
    DATA / "bm1684x" / "toy_bm1684x_int8",
    DATA / "bm1690" / "toy_bm1690_f16c8",
    DATA / "contexts" / "neck_bm1684x_int8",
]
"""One core and eight, whole tensors and slices."""

TOY = MODELS[0]


def opened(path: Path) -> InteractiveDebugger:
    inputs = path / "input.npz"
    return tdb_dap.open(path, inputs=inputs if inputs.exists() else None)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_a_trace_is_what_a_breakpoint_at_each_op_would_show(path: Path) -> None:
    with closing(opened(path)) as debugger:
        debugger.travel(5)
        answer = debugger.trace("max(in[0])", "mean(out[0])")
        assert debugger.ordinal == 5, "the session stays where it stands"
        assert len(answer) == len([r for r in debugger.program.source.records if r.ordinals])
        spans = sorted({(r.first, r.last) for r in debugger.program.source.records if r.ordinals})
        for hit, (first, last) in zip(
            sorted(answer.hits, key=lambda hit: hit.place.focus), sorted(spans, key=lambda s: s[1]), strict=True
        ):
            assert hit.place.moment == last + 1
            debugger.travel(first)
            scope = debugger.scope(first, "op")
            entry = debugger.evaluate("max(in[0])", scope)
            if not entry.pending:
                assert hit.cells[0].number == entry.array.item()
            debugger.travel(last + 1)
            left = debugger.evaluate("mean(out[0])", debugger.scope(last, "op"))
            assert hit.cells[1].pending == left.pending, "other cores write their parts later"
            if not left.pending:
                assert hit.cells[1].number == left.array.item()


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_a_history_has_every_value_that_the_bytes_ever_had(path: Path) -> None:
    with closing(opened(path)) as debugger:
        place = "R0x0:ui8[256]"
        answer = history(debugger.inspector, part_named(place, debugger.scope()))
        assert debugger.ordinal == 0
        view = part_named(place, debugger.scope()).view
        seen = {version.place.moment: version for version in answer.versions}
        before = debugger.machine.read(view).copy()
        assert answer.versions[0].writers is None
        inside = {
            ordinal
            for version in answer.versions[1:]
            for ordinal in range((version.writers or (0, 0))[0], (version.writers or (0, 0))[1] + 1)
        }
        for moment in range(1, len(debugger.program.commands) + 1):
            debugger.travel(moment)
            now = debugger.machine.read(view)
            if not np.array_equal(now, before):
                assert moment - 1 in inside, "a change is part of a version"
            if moment in seen:
                numbers = seen[moment].statistics
                assert numbers is not None
                assert (numbers.minimum, numbers.maximum) == (now.min(), now.max())
            before = now.copy()
        assert len(answer.versions) > 3


@pytest.mark.parametrize("condition", ["max(out[0]) > 0.2", "max(abs(R0x0:f32[16])) > 0.1", "min(in[0]) < -0.1"])
def test_when_is_what_looking_at_every_moment_gives(condition: str) -> None:
    with closing(opened(TOY)) as debugger:
        answer = turns(debugger.inspector, condition)
        ends = {r.last + 1 for r in debugger.program.source.records if r.ordinals}
        if "R0x0" in condition:
            ends |= set(range(len(debugger.program.commands) + 1))
        truth: dict[int, bool] = {}
        start = set[int]() if "[0]" in condition else {0}  # no op has ended before the first
        for moment in sorted(start | ends):
            debugger.travel(moment)
            value = debugger.evaluate(condition, debugger.scope(max(0, moment - 1), "op"))
            truth[moment] = not value.pending and bool(value.array.any())
        within = {
            moment: any(
                s.place.moment <= moment and (s.until is None or moment < s.until.moment) for s in answer.stretches
            )
            for moment in truth
        }
        assert within == truth
        assert any(truth.values())
        assert not all(truth.values())


def test_a_condition_that_never_holds_says_so() -> None:
    with closing(opened(TOY)) as debugger:
        assert turns(debugger.inspector, "max(out[0]) > 1e9").stretches == ()
        with pytest.raises(BadExpression, match="no tensor named 'nonsense'"):
            turns(debugger.inspector, "max(nonsense) > 1")


def test_what_is_not_computed_at_the_end_of_its_place_is_a_cell_that_says_so() -> None:
    with closing(opened(TOY)) as debugger:
        answer = debugger.trace("max(softmax16_Softmax)", "max(in[0])", at="tpu.Conv2D")
        assert [hit.cells[0].text for hit in answer.hits] == ["(softmax16_Softmax is not yet computed)"] * 2
        array = debugger.trace("max(softmax16_Softmax)", at="tpu.*").array
        assert np.isnan(array["max(softmax16_Softmax)"][:-1]).all()
        assert array["absence"][-1] == ""
        assert "not yet computed" in array["absence"][0]


def test_a_trace_stops_before_a_command_that_cannot_be_executed_and_keeps_its_rows() -> None:
    with closing(opened(TOY)) as debugger:
        debugger.step()
        debugger.machine.backend = _Failing(debugger.machine.backend, 9)  # type: ignore[assignment]
        answer = debugger.trace("max(out[0])")
        assert answer.stopped.startswith("command 9: ")
        assert 0 < len(answer) < 13
        assert "the run ends early" in answer.remarks[-1]


def test_edits_count_and_stay() -> None:
    """A trace shows what would happen with the edits that are made, and they are still there after it."""
    with closing(opened(TOY)) as debugger:
        plain = debugger.trace("max(out[0])", at="tpu.Pool2D").array["max(out[0])"].tolist()
        debugger.travel(5)
        debugger.write("relu4_Relu", 100.0)
        edited = debugger.trace("max(out[0])", at="tpu.Pool2D").array["max(out[0])"].tolist()
        assert edited[0] == 100.0
        assert plain[0] != 100.0
        assert len(debugger.machine.edits) == 1
        assert debugger.ordinal == 5


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_tensors_with_a_property_are_found_whole(path: Path) -> None:
    """Dead channels are those of the whole tensor: a slice in which a channel is zero does not count."""
    from tdb_dap.engine.compare.recording import record

    with closing(opened(path)) as debugger:
        answer = search(debugger.inspector, "max(abs(x)) == 0")
        largest = search(debugger.inspector, "max(abs(x)) >= 0")
    with closing(opened(path)) as other:
        arrays = record(other)
    zero = {match.name for match in answer.matches}
    assert largest.looked >= len(other.program.outputs)
    for match in largest.matches:
        if match.name in arrays and match.name in {
            r.name for record in other.program.source.records for r in record.results
        }:
            numbers = arrays[match.name]
            if match.statistics is not None and numbers.size == int(np.prod(match.shape)):
                assert match.statistics.maximum == pytest.approx(float(numbers.max()))
                assert (match.name in zero) == (not numbers.any())


def test_channels_are_named() -> None:
    with closing(opened(TOY)) as debugger:
        answer = search(debugger.inspector, "max(x, axis=(0, 2, 3)) < 3")
        relu = next(match for match in answer.matches if match.name == "relu4_Relu")
        debugger.run_to(relu.place.moment)
        numbers = debugger.read("relu4_Relu")
        assert relu.channels == tuple(np.flatnonzero(numbers.max(axis=(0, 2, 3)) < 3))
        assert 0 < relu.channel_count < 16
        with pytest.raises(BadExpression, match="write x for the tensor"):
            search(debugger.inspector, "max(abs(out[0])) > 1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max(in[0])", TracePoint(("max(in[0])",))),
        ("max(in[0]), min(out[0]) at tpu.Conv2D", TracePoint(("max(in[0])", "min(out[0])"), "tpu.Conv2D")),
        ("in[0][0,1] at B2 if max(in[0]) > 1", TracePoint(("in[0][0,1]",), "B2", "max(in[0]) > 1")),
        ('#loc("a at b, if c") at token:7 net_1', TracePoint(('#loc("a at b, if c")',), "token:7 net_1")),
        ("1 if out[0][0] else 2 at 22", TracePoint(("1 if out[0][0] else 2",), "22")),
        ("out[0] if max(out[0]) > 3", TracePoint(("out[0]",), "", "max(out[0]) > 3")),
        ("maximum(1, 2) at data:R0x0+4:change", TracePoint(("maximum(1, 2)",), "data:R0x0+4:change")),
    ],
)
def test_trace_points_are_written_in_one_line(text: str, expected: TracePoint) -> None:
    assert parse(text) == expected
    assert parse(expected.text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "name what to trace"),
        ("at tpu.Conv2D", "name what to trace"),
        ("in[0] at ", "name the place after at"),
        ("in[0] at", "name the place after at"),
        ("in[0] if", "name the condition after if"),
        ("in[0] at B2 if ", "name the condition after if"),
        ("in[0], , out[0]", "nothing between two commas"),
        ("in[0], in[0]", "named twice"),
        ("max(in[0)", "cannot understand"),
    ],
)
def test_a_trace_point_that_is_none_says_what_is_missing(text: str, error: str) -> None:
    with pytest.raises(BadExpression, match=error):
        parse(text)


def test_a_place_that_is_not_there_is_an_error() -> None:
    with closing(opened(TOY)) as debugger, pytest.raises(BadExpression, match="no such op in this program"):
        trace(debugger.inspector, TracePoint(("1",), "tpu.Nothing"))


def test_a_watch_on_changes_traces_changes_only() -> None:
    with closing(opened(TOY)) as debugger:
        debugger.travel(len(debugger.program.commands))
        writes = debugger.trace("R0x0:f32[4][0]", at="data:R0x0+16:write")
        changes = debugger.trace("R0x0:f32[4][0]", at="data:R0x0+16:change")
        assert 0 < len(changes) <= len(writes)
        moments = {hit.place.moment for hit in writes.hits}
        assert {hit.place.moment for hit in changes.hits} <= moments


class _Failing:
    """A backend that does not know one command."""

    def __init__(self, inner: object, ordinal: int) -> None:
        self._inner, self._ordinal = inner, ordinal

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def execute(self, command: object, memory: object) -> object:
        from tdb_dap.errors import NotSimulated

        if command.ordinal == self._ordinal:  # type: ignore[attr-defined]
            raise NotSimulated("not known to this test's backend")
        return self._inner.execute(command, memory)  # type: ignore[attr-defined]
