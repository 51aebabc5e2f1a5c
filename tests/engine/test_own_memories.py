"""Inputs, outputs and host tensors of a net have memory of their own on the runtime, whatever address was compiled.

The models: ScatterND runs on the host of BM1684; the compiler gives results of the host, outputs and later results one
address.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.bmodel import RunMode, Span, Stage, SubnetInfo, TensorInfo
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import F32
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.program.own_memories import with_own_memories
from tdb_dap.targets.chips.bm1684 import BM1684
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tests.compare.test_walk import failing, walked
from tests.known import view_of
from tests.samples import DATA, case

MODELS = sorted((DATA / "memory").glob("host_*"))
BETWEEN = DATA / "memory" / "host_between_bm1684_f32"
"""TPU, host, TPU, host, TPU: outputs of the first and the third are needed at the end."""

ALIGNS = DATA / "memory" / "roi_align_bm1684_f32"
"""TPU, then RoiAlign on the host."""


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_outputs_are_those_of_the_runtime(model: Path) -> None:
    debugger = open_debugger(model, model / "input.npz")
    debugger.run()
    with np.load(model / "runtime.npz") as truth:
        outputs = debugger.outputs()
        assert sorted(outputs) == sorted(truth.files)
        assert all(outputs[name].tobytes() == truth[name].tobytes() for name in truth.files)


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_where_they_were_compiled_to_be_an_output_is_lost(model: Path) -> None:
    """So the copies are needed, and the vendor's debugger, which makes none, shows other outputs."""
    debugger = open_debugger(model, model / "input.npz", static_tables="tdb")
    assert all(command.engine != "host" for command in debugger.program.commands)
    debugger.run()
    with np.load(model / "runtime.npz") as truth:
        outputs = debugger.outputs()
        assert any(outputs[name].tobytes() != truth[name].tobytes() for name in truth.files)


def test_copies_are_writers_and_readers() -> None:
    program = open_program(BETWEEN)
    output = program.outputs[0]
    places = ByteRanges.of(output.view)
    machine = open_debugger(BETWEEN, BETWEEN / "input.npz").machine
    machine.travel(len(program.commands))
    writer = machine.accesses.last_writer(places, machine.ordinal)
    assert writer is not None
    assert program.commands[writer].name == "host.copy"
    copies = [c for c in program.commands if c.engine == "host"]
    assert [c.token for c in copies] == ["H1", "H2", "H3", "H4"]
    assert copies[0].description.summary == f"The runtime copies {output.name} to its own memory."
    assert "to where this subnet reads it" in copies[2].description.summary
    assert view_of(copies[2].operands[0]).address == output.view.address
    assert list(machine.accesses.touching(places, reads=True, writes=False, start=0))


def test_a_breakpoint_stops_at_a_copy() -> None:
    debugger = open_debugger(BETWEEN, BETWEEN / "input.npz")
    debugger.breakpoints.add("H2")
    stop = debugger.run()
    assert stop.reason == "breakpoint"
    assert debugger.program.commands[stop.ordinal].token == "H2"


def test_time_goes_back_over_a_copy() -> None:
    machine = open_debugger(BETWEEN, BETWEEN / "input.npz").machine
    first = next(c.ordinal for c in machine.program.commands if c.engine == "host")
    view = machine.program.outputs[0].view
    machine.travel(first)
    assert not machine.memory.read(view).any()
    machine.travel(first + 1)
    assert machine.memory.read(view).any()
    machine.travel(first)
    assert not machine.memory.read(view).any()


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_a_check_passes_and_looks_at_every_output(model: Path) -> None:
    """Also where a copy fills the place in which the subnet computes an output later."""
    rows = walked(open_debugger(model, model / "input.npz", model / "ref.npz"))
    assert failing(rows) == []
    with np.load(model / "runtime.npz") as truth:
        assert {one.name for one in rows if one.verdict == "pass"} >= set(truth.files)


@pytest.mark.parametrize("model", [m for m in MODELS if "twice" in m.name or "first" in m.name], ids=lambda p: p.name)
def test_a_wrong_host_result_is_named(model: Path, tmp_path: Path) -> None:
    with np.load(model / "ref.npz") as reference:
        arrays = dict(reference)
    np.savez(tmp_path / "wrong.npz", **{**arrays, "s_ScatterND": 1 - 2 * arrays["s_ScatterND"]})
    rows = walked(open_debugger(model, model / "input.npz", tmp_path / "wrong.npz"))
    assert set(failing(rows)) == {"s_ScatterND"}


def test_names_of_inputs_and_outputs_mean_their_own_memory() -> None:
    """Ops have copies of them, which are not made yet, or overwritten."""
    debugger = open_debugger(BETWEEN, BETWEEN / "input.npz")
    with np.load(BETWEEN / "input.npz") as given, np.load(BETWEEN / "runtime.npz") as truth:
        assert np.array_equal(debugger.evaluate("x").array, given["x"])
        assert debugger.evaluate("a_Relu").pending
        debugger.run()
        for name in truth.files:
            assert np.array_equal(debugger.evaluate(name).array, truth[name]), name
    machine = debugger.machine
    reader = next(c for c in machine.program.commands if c.mlir_lines)
    machine.travel(reader.ordinal)
    at_op = debugger.evaluate("x", debugger.scope(reader.ordinal, "op"))
    assert at_op.view == machine.program.source.records_of(reader.ordinal)[0].operands[0].view, "the op has its copy"


def stage_of(*subnets: tuple[RunMode, dict[str, int], dict[str, int]], inputs: dict[str, int], outputs: str) -> Stage:
    """A stage; tensors of 256 bytes by name and address. ``outputs``: their names, between spaces."""
    known: dict[str, TensorInfo] = {}

    def tensors(places: dict[str, int]) -> tuple[TensorInfo, ...]:
        made = {
            n: TensorInfo(n, F32, (64,), BM1684.geometry.device_address(Space.GLOBAL, a), 256, 1.0, 0, 0)
            for n, a in places.items()
        }
        known.update(made)
        return tuple(made.values())

    given = tensors(inputs)
    infos = tuple(
        SubnetInfo(number, mode, (number + 1,), tensors(read), tensors(written), (), ())
        for number, (mode, read, written) in enumerate(subnets)
    )
    return Stage(given, tuple(known[name] for name in outputs.split()), 0, Span(0, 0), 0, 0, 0, 0, 1, infos)


TPU, CPU = RunMode.TPU_STATIC, RunMode.CPU


def test_a_host_result_and_an_output_of_the_tpu_in_one_place_move() -> None:
    stage = stage_of((TPU, {"x": 0}, {"a": 4096}), (CPU, {"x": 0}, {"s": 4096}), inputs={"x": 0}, outputs="a s")
    moved, copies = with_own_memories(stage, BM1684.geometry, 5000)
    # x is needed after the subnet on the TPU, which may compute in its place.
    assert [(copy.subnet, copy.is_before, copy.source.name) for copy in copies] == [(0, True, "x"), (0, False, "a")]
    starts = [BM1684.geometry.locate(tensor.address) for tensor in (*moved.inputs, *moved.outputs)]
    assert starts == [(Space.GLOBAL, 8192), (Space.GLOBAL, 12288), (Space.GLOBAL, 16384)]
    assert moved.subnets[1].inputs == moved.inputs


def test_nothing_moves_where_nothing_meets() -> None:
    geometry = BM1684.geometry
    apart = stage_of((TPU, {"x": 0}, {"a": 4096}), (CPU, {"a": 4096}, {"s": 8192}), inputs={"x": 0}, outputs="a s")
    assert with_own_memories(apart, geometry, 1 << 20) == (apart, ())
    in_turn = stage_of((CPU, {"x": 0}, {"s": 4096}), (TPU, {"s": 4096}, {"a": 0}), inputs={"x": 0}, outputs="a")
    assert with_own_memories(in_turn, geometry, 1 << 20) == (in_turn, ())
    alone = open_program(case("toy_bm1684_f32").path)
    assert all(command.engine != "host" for command in alone.commands)


def test_an_input_that_is_read_again_is_copied_before_each_subnet_on_the_tpu() -> None:
    stage = stage_of(
        (TPU, {"x": 0}, {"e": 4096}),
        (CPU, {"e": 4096}, {"s": 8192}),
        (TPU, {"s": 8192, "x": 0}, {"y": 4096}),
        inputs={"x": 0},
        outputs="y",
    )
    moved, copies = with_own_memories(stage, BM1684.geometry, 1 << 20)
    assert [(copy.subnet, copy.is_before, copy.source.name) for copy in copies] == [(0, True, "x"), (2, True, "x")]
    assert moved.inputs[0].address != stage.inputs[0].address
    assert moved.subnets == stage.subnets


def test_nets_with_branches_stay_as_they_are() -> None:
    stage = stage_of(
        (RunMode.SWITCH, {"x": 0}, {}),
        (TPU, {"x": 0}, {"a": 4096}),
        (CPU, {"x": 0}, {"s": 4096}),
        inputs={"x": 0},
        outputs="a s",
    )
    assert with_own_memories(stage, BM1684.geometry, 1 << 20) == (stage, ())


def test_an_input_that_only_the_host_reads_has_memory_of_its_own_without_a_copy() -> None:
    """RoiAlign on the host, after a subnet of the TPU: the input was said to be where DDR has no bytes."""
    program = open_program(ALIGNS)
    image = next(tensor for tensor in program.inputs if tensor.name == "x")
    (read,) = (tensor for subnet in program.subnets for tensor in subnet.inputs if tensor.name == "x")
    assert read.address == image.address
    assert all(command.engine != "host" for command in program.commands)
    (region,) = (r for r in program.ddr_regions() if r.start <= image.view.address < r.stop)
    assert region.title == "tensor x"
    assert image.view.address + image.size <= region.stop


def test_weights_of_such_a_model_can_be_edited(tmp_path: Path) -> None:
    """Its net is not the one of the file: addresses in it are others."""
    for name in ("final.mlir", "tensor_location.json.xz"):
        shutil.copyfile(ALIGNS / name, tmp_path / name)
    with Editor(open_program(ALIGNS), tmp_path / "compilation.bmodel") as editor:
        editor.set_weight("w1", np.float32(7))
    program = open_program(tmp_path)
    weights = next(region for region in program.ddr_regions() if region.title == "weights")
    (view,) = {value.view for record in program.source.records for value in record.operands if value.name == "w1"}
    assert view is not None
    start = view.address - weights.start
    assert weights.data[start : start + 4].view(np.float32) == 7
