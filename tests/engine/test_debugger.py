"""Run control from Python: breakpoints of every form, steps, time, and what can be read and written."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.control.breakpoints import parse_hit_condition
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.errors import BadExpression
from tdb_dap.targets import kernel
from tests.conftest import Toy
from tests.heard import Heard


@pytest.fixture
def debugger(toy: Toy) -> Debugger:
    opened = tdb_dap.open(toy.directory, inputs=toy.inputs, reference=toy.reference)
    opened.listener = Heard()
    return opened


def stops(debugger: Debugger, text: str, **more: Any) -> list[int]:
    """The ordinals at which a breakpoint stops a run from start to end."""
    added = debugger.breakpoints.add(text, **more)
    debugger.restart()
    found: list[int] = []
    while (stop := debugger.run()).reason != "end":
        found.append(stop.ordinal)
    debugger.breakpoints.remove(added)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("conv.normal", [3, 8]),
        ("pord.*", [5, 26, 27, 37, 38, 53, 54]),
        ("tpu.Conv2D", [3, 8]),
        ("tpu.Pool*", [5, 26]),
        ("B3", [5]),
        ("T3", [5]),
        ("D6", [28]),
        ("c0.B3", [5]),
        ("c1.B3", []),
        ("B3@core0", [5]),
        ("B3@core1", []),
        ("%17", [5]),
        ("%1", [0]),
        ('#loc("maxpool5_MaxPool")', [5]),
        ("#loc13", [5]),
        ("#loc(13)", [5]),
        ("loc:maxpool*", [5]),
        ("mlir:23", [5]),
        ("asm:8", [5]),
        ("core:1", []),
        ("G53248", [28, 29, 57]),
        ("G53248w", [28, 57]),
        ("G53248r", [29]),
        ("G53240+8", [2]),
        ("G53240+9", [2, 28, 29, 57]),
        ("G0xd000", [28, 29, 57]),
        ("R0.4096", [5, 8]),
        ("R4096", [5, 8]),
    ],
)
def test_every_form_stops_before_the_command(debugger: Debugger, text: str, expected: list[int]) -> None:
    assert stops(debugger, text) == expected


@pytest.mark.parametrize("text", ["", "mlir:", "R99.0", "R4.999999", "G1.5", "B", "#loc(x)", "what is this"])
def test_what_is_no_form_is_refused(debugger: Debugger, text: str) -> None:
    with pytest.raises(BadExpression):
        debugger.breakpoints.add(text)


def test_a_place_without_commands_is_kept_but_not_verified(debugger: Debugger) -> None:
    added = debugger.breakpoints.add("fft.radix2")
    assert not added.verified
    assert added.message.startswith("fft.radix2: no such instruction in this program; it has arith.add, ")


def test_a_misspelt_op_is_answered_with_the_nearest_there_is(debugger: Debugger) -> None:
    added = debugger.breakpoints.add("tpu.Pool")
    assert added.message == "tpu.Pool: no such op in this program; near are tpu.Pool2D"


def test_stopping_after_is_about_the_command_before(debugger: Debugger) -> None:
    debugger.breakpoints.add("%16", when="after")
    stop = debugger.run()
    assert (stop.ordinal, stop.focus) == (5, 4)


def test_conditions_and_hit_conditions(debugger: Debugger) -> None:
    assert stops(debugger, "arith.*", hit="2") == [10]
    assert len(stops(debugger, "arith.*", hit=">= 2")) == len(stops(debugger, "arith.*")) - 1
    assert stops(debugger, "tpu.Pool2D", condition="shape(out[0])[2] == 1") == [26]
    assert parse_hit_condition("% 3")(6)
    with pytest.raises(BadExpression, match="hit condition"):
        debugger.breakpoints.add("conv.normal", hit="often")


def test_temporary_and_disabled_breakpoints(debugger: Debugger) -> None:
    debugger.breakpoints.add("conv.normal", temporary=True)
    off = debugger.breakpoints.add("tpu.Pool2D")
    off.enabled = False
    assert debugger.run().ordinal == 3
    assert debugger.run().reason == "end"


def test_steps_of_every_unit_and_back(debugger: Debugger) -> None:
    assert [debugger.step().ordinal for _ in range(3)] == [1, 2, 3]
    assert [debugger.step(1, "op").ordinal for _ in range(3)] == [5, 6, 7]
    assert debugger.step(1, "group").ordinal == 29
    assert debugger.step(1, "group").reason == "end"
    assert debugger.step(-1, "group").ordinal == 29
    assert debugger.step(-1, "op").ordinal == 28
    assert debugger.step(-2, "op").ordinal == 9
    assert debugger.step(-1).ordinal == 8
    assert debugger.step(5).ordinal == 13
    assert debugger.step(1, "op").ordinal == 26
    assert debugger.step(-100).reason == "entry"


def test_going_back_and_forth_computes_the_same(debugger: Debugger) -> None:
    debugger.run()
    first = debugger.outputs()["softmax16_Softmax"]
    debugger.travel(30)
    assert debugger.ordinal == 30
    debugger.reverse()
    assert debugger.ordinal == 0
    debugger.run()
    assert np.array_equal(first, debugger.outputs()["softmax16_Softmax"])
    with pytest.raises(BadExpression, match="0 to 58"):
        debugger.travel(59)


def test_edits_change_the_run_and_are_undone_by_going_back(debugger: Debugger) -> None:
    debugger.run()
    right = debugger.outputs()["softmax16_Softmax"].copy()
    debugger.travel(5)
    debugger.write("%16", 0)
    assert not debugger.read("%16").any()
    debugger.run()
    assert not np.array_equal(right, debugger.outputs()["softmax16_Softmax"])
    debugger.travel(4)
    debugger.run()
    assert np.array_equal(right, debugger.outputs()["softmax16_Softmax"])
    with pytest.raises(BadExpression, match=r"%16 \(overwritten by B4 \(line 24\)\): writing there would change"):
        debugger.write("%16", 0)
    debugger.travel(5)
    with pytest.raises(BadExpression, match="does not fit"):
        debugger.write("%16", np.zeros(7))
    with pytest.raises(BadExpression, match="not a place"):
        debugger.write("%16 + 1", 0)


def test_who_wrote(debugger: Debugger) -> None:
    assert debugger.inspector.who_wrote('#loc("relu4_Relu")') is None
    debugger.travel(10)
    assert debugger.inspector.who_wrote("%17") == 5
    assert debugger.inspector.who_wrote("G0:f32[4]") is None


def test_a_pause_from_another_thread_ends_the_run(debugger: Debugger) -> None:
    debugger.breakpoints.add("*", condition="sum(sin(R0:f32[64,65536])) > 1e30")
    asked: list[int] = []

    def between() -> None:
        asked.append(debugger.ordinal)
        if debugger.ordinal == 7:
            other = threading.Thread(target=debugger.pause)
            other.start()
            other.join()

    debugger.listener = Heard(between=between)
    stop = debugger.run()
    assert stop.reason == "pause"
    assert asked.count(7) == 1, "the run asks no second time"
    assert max(asked) == stop.ordinal == 7


def test_observers_see_commands_and_ops_in_order(debugger: Debugger) -> None:
    seen: list[str] = []

    class Watcher(Observer):
        def before_op(self, debugger: Inspector, record: OpRecord) -> None:
            seen.append(f"+{record.line}")

        def after_op(self, debugger: Inspector, record: OpRecord) -> None:
            seen.append(f"-{record.line}")

        def after_command(self, debugger: Inspector, command: Command) -> None:
            seen.append(command.token)

        def finished(self, debugger: Inspector) -> None:
            seen.append("end")

    debugger.observers.append(Watcher())
    debugger.run()
    assert seen[:8] == ["+17", "D1", "-17", "+18", "D2", "-18", "+19", "D3"]
    assert seen[9:13] == ["+22", "B1", "B2", "-22"]
    assert seen[-3:] == ["D12", "-34", "end"]


def test_log_points_print_and_go_on(debugger: Debugger) -> None:
    said: list[str] = []
    debugger.listener = Heard(said)
    debugger.breakpoints.add("conv.normal", log="kernel {shape(in[1])}")
    assert debugger.run().reason == "end"
    assert said == ["kernel si64[4] [16, 3, 3, 3]", "kernel si64[4] [32, 16, 3, 3]"]


def test_the_first_mismatch_is_found(debugger: Debugger) -> None:
    debugger.set_checks(filters_named({"mismatch": None}))
    assert debugger.run().reason == "end"
    debugger.travel(5)
    debugger.write("%16", 0)
    stop = debugger.run()
    assert stop.reason == "exception"
    assert stop.finding is not None
    assert stop.finding.title == "maxpool5_MaxPool differs from the reference"
    assert (stop.ordinal, stop.focus) == (6, 5)
    debugger.travel(5)
    debugger.write("%16", 0)
    debugger.set_checks(filters_named({"mismatch": "maxpool5_MaxPool, conv8_Conv"}))
    later = debugger.run().finding
    assert later is not None
    assert later.title.startswith("mul10_Mul")
    with pytest.raises(BadExpression, match="no exception filter"):
        debugger.set_checks(filters_named({"weather": None}))


@pytest.mark.parametrize("with_kernel", [True, False])
def test_a_long_command_is_given_up_between_its_parts(
    debugger: Debugger, toy: Toy, with_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The convolution (command 3) is left undone, and done whole when the run goes on."""
    if with_kernel and not kernel.is_built:
        pytest.skip(kernel.describe())
    monkeypatch.setattr("tdb_dap.targets.arithmetic.dot._BLOCK", 1000)
    in_parts = kernel.shared(2, worth=1, part=1) if with_kernel else nullcontext()
    with kernel.switched(with_kernel), in_parts:
        debugger.step(3)
        before = debugger.machine.memory.local(0).copy()
        asked: list[int] = []

        def between() -> None:
            asked.append(debugger.ordinal)
            if len(asked) == 5:
                debugger.pause()

        debugger.listener = Heard(between=between)
        assert debugger.run().reason == "pause"
        assert asked == [3] * 5
        assert debugger.ordinal == 3
        np.testing.assert_array_equal(debugger.machine.memory.local(0), before)
        assert debugger.run().reason == "end"
        whole = tdb_dap.open(toy.directory, inputs=toy.inputs)
        whole.run()
        for name, value in whole.outputs().items():
            np.testing.assert_array_equal(debugger.outputs()[name], value)


@pytest.mark.parametrize("condition", [None, "birth"])
def test_with_another_input_than_the_references_nothing_stops_and_it_is_said_once(
    debugger: Debugger, condition: str | None
) -> None:
    notes: list[str] = []

    debugger.listener = Heard(notes=notes)
    debugger.set_checks(filters_named({"mismatch": condition}))
    debugger.machine.load_inputs({"x": np.zeros_like(debugger.machine.inputs["x"])})
    assert debugger.run().reason == "end"
    (note,) = notes
    assert note.startswith("x: not the input that the reference was made with, so no op is compared")
