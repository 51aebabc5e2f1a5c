"""A net with an ONNX If: the condition decides which subnet runs, in both directions of time."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

import tdb_dap
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.stepping import Unit
from tdb_dap.engine.machine.branches import Branches
from tdb_dap.engine.sanitizers import made
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.errors import NotSimulated
from tdb_dap.tools.opening import open_debugger
from tests.heard import Heard
from tests.samples import DATA

MODEL = DATA / "contexts" / "branches"
SWITCH, THEN, ELSE, MERGE = 1, 2, 3, 4
SIGNS = ("pos", "neg")


def opened(sign: str) -> Debugger:
    return tdb_dap.open(MODEL, inputs=MODEL / f"input_{sign}.npz")


def start_of(debugger: Debugger, subnet: int) -> int:
    return next(s.start for s in debugger.program.subnets if s.id == subnet)


@pytest.mark.parametrize("sign", SIGNS)
def test_outputs_are_those_of_the_vendors_runtime(sign: str) -> None:
    debugger = opened(sign)
    said: list[str] = []
    debugger.listener = Heard(notes=said)
    assert debugger.run().reason == "end"
    with np.load(MODEL / f"runtime_{sign}.npz") as truth:
        for name in truth.files:
            np.testing.assert_array_equal(debugger.outputs()[name].ravel(), truth[name].ravel())
    chosen = THEN if sign == "pos" else ELSE
    assert said == [f"subnet 1 (SWITCH): cond_Greater is {int(sign == 'pos')}, subnet {chosen} follows"]


@pytest.mark.parametrize(("sign", "runs", "rests"), [("pos", THEN, ELSE), ("neg", ELSE, THEN)])
def test_only_the_branch_that_runs_stops_and_is_told(sign: str, runs: int, rests: int) -> None:
    debugger = opened(sign)
    for subnet in (runs, rests):
        debugger.breakpoints.add(f"subnet:{subnet}")
    stop = debugger.run()
    assert (stop.reason, debugger.ordinal) == ("breakpoint", start_of(debugger, runs))
    assert debugger.run().reason == "end"
    back = debugger.reverse()
    assert (back.reason, debugger.ordinal) == ("breakpoint", start_of(debugger, runs))


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("unit", ["op", "command"])
def test_steps_pass_over_the_other_branch_both_ways(sign: str, unit: Unit) -> None:
    debugger = opened(sign)
    forwards = [debugger.ordinal]
    while not debugger.at_end:
        debugger.step(unit=unit)
        forwards.append(debugger.ordinal)
    rests = ELSE if sign == "pos" else THEN
    subnet = next(s for s in debugger.program.subnets if s.id == rests)
    assert not set(forwards) & set(range(subnet.start, subnet.stop))
    backwards = [debugger.ordinal]
    while debugger.ordinal:
        debugger.step(-1, unit=unit)
        backwards.append(debugger.ordinal)
    assert not set(backwards) & set(range(subnet.start, subnet.stop))


def test_an_edit_of_the_condition_takes_the_other_branch() -> None:
    debugger = opened("pos")
    debugger.run()
    debugger.travel(start_of(debugger, SWITCH))
    debugger.write('#loc("cond_Greater")', 0)
    debugger.run()
    changed = debugger.outputs()["z_Sigmoid"].copy()
    debugger.undo_edit()
    debugger.run()
    with np.load(MODEL / "runtime_pos.npz") as truth:
        np.testing.assert_array_equal(debugger.outputs()["z_Sigmoid"].ravel(), truth["z_Sigmoid"].ravel())
    assert not np.array_equal(changed, debugger.outputs()["z_Sigmoid"])


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_any_moment_is_what_it_was(sign: str, limit: int) -> None:
    debugger = open_debugger(MODEL, MODEL / f"input_{sign}.npz", history_limit=limit)
    total = len(debugger.program.commands)
    memories = {}
    for ordinal in range(total + 1):
        debugger.travel(ordinal)
        memories[ordinal] = debugger.machine.memory.neuron().tobytes()
    for ordinal in np.random.default_rng(0).permutation(total + 1).tolist():
        debugger.travel(ordinal)
        assert debugger.machine.memory.neuron().tobytes() == memories[ordinal]


def test_who_wrote_the_result_is_in_the_branch_that_ran() -> None:
    for sign, runs in (("pos", THEN), ("neg", ELSE)):
        debugger = opened(sign)
        debugger.travel(start_of(debugger, MERGE))
        subnet = next(s for s in debugger.program.subnets if s.id == runs)
        writer = debugger.inspector.who_wrote(subnet.outputs[0].view)
        assert writer is not None
        assert subnet.start <= writer < subnet.stop


@pytest.mark.parametrize("sign", SIGNS)
def test_sanitizers_find_nothing(sign: str) -> None:
    debugger = open_debugger(MODEL, MODEL / f"input_{sign}.npz", history_limit=0)
    wanted = {"bounds": None, "uninitialized": None, "nan": None}
    result = survey(debugger, made(wanted, []), lambda done: None)
    assert [finding.text for finding in result.findings] == []


def test_what_a_switch_or_merge_does_beyond_that_is_refused_by_name() -> None:
    debugger = opened("pos")
    program, memory = debugger.program, debugger.machine.memory
    infos = {info.id: info for info in program.stage.subnets}
    branches = Branches(program.stage.subnets, program.subnets)
    with pytest.raises(NotSimulated, match=r"subnet 1 \(SWITCH\) with 3 branches and 0 outputs is not simulated"):
        branches.decide(replace(infos[SWITCH], next_ids=(2, 3, 4)), memory)
    with pytest.raises(NotSimulated, match=r"subnet 1 \(SWITCH\) with 2 branches and 1 outputs"):
        branches.decide(replace(infos[SWITCH], outputs=infos[THEN].outputs), memory)
    with pytest.raises(NotSimulated, match="which tensor becomes y_If_0__id_4 is not known: yt_Relu, ye_Relu"):
        branches.merge(infos[MERGE], memory)
    with pytest.raises(NotSimulated, match="0 sources for 1 outputs"):
        branches.merge(replace(infos[MERGE], merged_from=()), memory)
