"""Recorded runs as programs: replayed bit for bit in both directions, with launches, ops and shapes of the run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.payloads import CommandStart, Hash
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.engine.recording.writer import Writer
from tdb_dap.errors import BadExpression, BadInput
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.programs import open_program
from tests.command_line import tdb_dap as command_line
from tests.samples import DATA, SAMPLE

RECORDINGS = sorted((DATA / "recordings").glob("*.tdbrec"))
PIPELINE = DATA / "recordings" / "pipeline_bm1684x.tdbrec"
"""Two dynamic nets in a loop of ten launches with changing shapes; the output of one is the input of the other."""

TOY = DATA / "recordings" / "toy_bm1684x.tdbrec"
MIXED = DATA / "recordings" / "mixed_bm1684.tdbrec"
"""A layer on the host, then a dynamic subnet that uses the engine that gathers, whose commands are not decoded."""

BRANCHES = DATA / "recordings" / "branches_bm1684x.tdbrec"
"""A net with an If, whose branches are dynamic subnets."""

SHAPES = DATA / "recordings" / "shapes_bm1688.tdbrec"
"""A convolutional net, launched with three batch and image sizes."""

TOY_RESULT = [0x3D04D336, 0x3DC15567, 0x3DBE1C90, 0x3DED34FE, 0x3D9A9431, 0x3DC9BDB3, 0x3E27CCD2, 0x3DF0AD6D]
"""The first words that the runtime gave on BM1684X."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def opened(file: Path) -> Debugger:
    """A debugger that stops where the replay is not what was recorded."""
    debugger = tdb_dap.open(file)
    debugger.set_checks(filters_named({"divergence": None}))
    return debugger


def memories(machine: Machine) -> str:
    """A digest of all memories."""
    found = hashlib.sha256()
    for space in (Space.GLOBAL, Space.L2):
        for region in machine.memory.regions(space):
            found.update(region.data.tobytes())
    for core in range(machine.memory.cores):
        found.update(machine.memory.local(core).tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_a_run_is_replayed_with_every_byte_that_was_told_of_it(file: Path) -> None:
    debugger = opened(file)
    program = debugger.program
    assert isinstance(program, RecordedProgram)
    assert sum(map(len, program.events.expected.values())) > 0
    assert [action.digest for action in program.events.actions.values() if action.name == "host.copy_out"][-1]
    assert debugger.run().reason == "end"


def test_the_outputs_are_those_of_the_runtime() -> None:
    debugger = opened(TOY)
    debugger.run()
    [output] = debugger.outputs().values()
    assert output.ravel()[:8].view(np.uint32).tolist() == TOY_RESULT


@pytest.mark.parametrize("file", [TOY, MIXED, PIPELINE], ids=lambda file: file.stem)
def test_every_moment_is_the_same_from_both_sides(file: Path) -> None:
    debugger = opened(file)
    machine, length = debugger.machine, len(debugger.program.commands)
    moments = range(0, length + 1, max(1, length // 20))
    there = {}
    for moment in moments:
        machine.travel(moment)
        there[moment] = memories(machine)
    assert len(set(there.values())) > len(there) // 2
    for moment in reversed(moments):
        machine.travel(moment)
        assert memories(machine) == there[moment], moment


def spoiled(file: Path, kind: form.Event, number: int, change: int, target: Path, bits: int = 1) -> Path:
    """A copy in which one byte of an event's payload is another."""
    recording = Recording.read(file)
    wanted = recording.of(kind).tolist()[number]
    with Writer(target, recording.head) as writer:
        for index, (event, flags, core, _, _) in enumerate(recording.events.tolist()):
            payload = bytearray(recording.payload(index))
            if index == wanted:
                payload[change] ^= bits
            writer.events(form.event(event, bytes(payload), flags=flags, core=core))
        for name, content in recording.files.items():
            writer.attach(name, content)
        writer.done({})
    return target


def test_the_replay_stops_at_the_first_difference(tmp_path: Path) -> None:
    recording = Recording.read(TOY)
    last = recording.of(form.Event.HASH).size - 1
    told = recording.parsed(recording.of(form.Event.HASH).tolist()[last], Hash.parse)
    file = spoiled(TOY, form.Event.HASH, last, 24, tmp_path / "spoiled.tdbrec")
    stop = opened(file).run()
    assert stop.reason == "exception"
    assert f"the {told.size:,} bytes from %G" in stop.text
    assert "are not those of the recorded run" in stop.text


def test_another_command_is_noticed_at_the_next_bytes_that_are_known(tmp_path: Path) -> None:
    recording = Recording.read(TOY)
    tiu = [
        number
        for number, index in enumerate(recording.of(form.Event.COMMAND).tolist())
        if recording.parsed(index, CommandStart.parse).engine == 0
    ]
    program = open_program(TOY)
    ordinals = [command.ordinal for command in program.commands if command.has_descriptor]
    maximum = next(number for number in tiu if program.commands[ordinals[number]].name == "arith.max")
    constant = program.commands[ordinals[maximum]].fields["opd1_addr"]
    assert constant == 0, "the maximum with 0"
    chip = target_for(program.chip, str(TOY))
    fields = {
        name: start
        for name, start, _ in chip.instruction_set.instructions[program.commands[ordinals[maximum]].kind].fields
    }
    # The highest byte of the constant: 0 becomes 32.
    place = len(CommandStart(0, 0, b"").pack()) + fields["opd1_addr"] // 8 + 3
    file = spoiled(TOY, form.Event.COMMAND, maximum, place, tmp_path / "spoiled.tdbrec", 0x42)
    stop = opened(file).run()
    assert stop.reason == "exception"
    assert stop.ordinal > ordinals[maximum]


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_every_command_of_a_dynamic_subnet_is_of_an_op_in_the_order_of_its_function(file: Path) -> None:
    program = open_program(file)
    assert isinstance(program, RecordedProgram)
    source = program.source
    assert source.mlir is not None
    for subnet in program.subnets:
        if source.mlir.function_named(subnet.function) is None:
            continue
        inside = range(subnet.start, subnet.stop)
        queued = [ordinal for ordinal in inside if ordinal in program.events.queued]
        assert queued
        owned = [ordinal for ordinal in queued if source.lines_of(ordinal)]
        assert len(owned) >= 0.95 * len(queued), subnet.title
    for record in source.records:
        op = source.op_of(record)
        assert op is not None
        assert op.name == record.opcode
        assert record.raw.is_certain


def test_ops_lie_where_the_run_has_put_them() -> None:
    debugger = opened(TOY)
    records = {record.results[0].name: record for record in debugger.program.source.records if record.results}
    debugger.run()
    softmax = records["softmax16_Softmax"].results[0]
    assert softmax.view is not None
    assert debugger.program.outputs[0].view.address == softmax.view.address
    debugger.travel(records["relu4_Relu"].last + 1)
    relu = records["relu4_Relu"].results[0].view
    assert relu is not None
    assert debugger.read(relu).min() == 0


def test_a_pipeline_is_a_row_of_launches() -> None:
    program = open_program(PIPELINE)
    assert [(launch.number, launch.net) for launch in program.launches] == [
        (number, ("enc", "dec")[number % 2]) for number in range(10)
    ]
    assert [launch.shapes for launch in program.launches[:6]] == ["1×16", "1×12", "4×16", "4×12", "7×16", "7×12"]
    assert program.launch_at(0) == program.launches[0]
    assert program.launch_at(len(program.commands)) is None


def test_tensors_have_the_shapes_of_this_run() -> None:
    program = open_program(PIPELINE)
    shapes = {
        (launch.number, value.name): value.shape
        for launch in program.launches
        for record in program.source.records
        if record.ordinals and launch.start <= record.first < launch.stop
        for value in (*record.operands, *record.results)
    }
    for number, batch in ((1, 1), (3, 4), (5, 7), (7, 2), (9, 5)):
        assert shapes[number, "y"] == (batch, 12)
        assert shapes[number, "a_MatMul"] == (batch, 20)
        assert shapes[number, "z_Softmax"] == (batch, 10)


def test_breakpoints_on_a_net_and_on_a_launch() -> None:
    debugger = opened(PIPELINE)
    program = debugger.program
    debugger.breakpoints.add("net:dec")
    stops = []
    while (stop := debugger.run()).reason == "breakpoint":
        stops.append(program.launch_at(stop.focus))
    assert [launch.number for launch in stops if launch] == [1, 3, 5, 7, 9]
    debugger.restart()
    debugger.breakpoints.add("launch:6")
    assert [debugger.run().focus for _ in range(4)][-1] == program.launches[6].start
    assert "near are launch:" in debugger.breakpoints.add("launch:12").location.message
    assert "no such launch in this program; near are net:dec" in debugger.breakpoints.add("net:deck").location.message


def test_who_wrote_an_input_is_the_launch_that_made_it() -> None:
    debugger = opened(PIPELINE)
    program = debugger.program
    for number in (1, 3, 7):
        launch = program.launches[number]
        first = next(o for o in range(launch.start, launch.stop) if program.source.records_of(o))
        debugger.travel(first)
        writer = debugger.inspector.who_wrote("in[0]")
        assert writer is not None
        made = program.launch_at(writer)
        assert made is not None
        assert (made.number, made.net) == (number - 1, "enc")


def test_the_inputs_are_written_by_the_host() -> None:
    debugger = opened(PIPELINE)
    program = debugger.program
    launch = program.launches[4]
    first = next(o for o in range(launch.start, launch.stop) if program.commands[o].engine == "dma")
    debugger.travel(first)
    writer = debugger.inspector.who_wrote("in[0]")
    assert writer is not None
    assert program.commands[writer].name == "host.copy_in"
    assert program.launch_at(writer) == launch


def test_what_an_engine_did_that_is_not_decoded_is_in_the_recording() -> None:
    debugger = opened(MIXED)
    gathers = [command for command in debugger.program.commands if command.engine == "gde"]
    assert gathers
    assert "not decoded; its results are in the recording" in gathers[0].asm
    assert debugger.run().reason == "end"


def test_edits_are_not_held_against_the_recording() -> None:
    debugger = opened(TOY)
    launch = debugger.program.launches[0]
    first = next(o for o in range(launch.start, launch.stop) if debugger.program.commands[o].engine == "tiu")
    debugger.travel(first)
    debugger.write("in[0]", 0.5)
    assert debugger.run().reason == "end"


def test_the_source_is_kept_where_editors_find_it_again(cache: Path) -> None:
    first, again = open_program(TOY), open_program(TOY)
    assert first.context.mlir is not None
    assert first.context.mlir == again.context.mlir
    assert first.context.mlir.is_relative_to(cache)
    assert first.source.mlir is not None
    assert first.context.mlir.read_text() == first.source.mlir.text


def test_functions_of_two_models_do_not_meet() -> None:
    program = open_program(PIPELINE)
    mlir = program.source.mlir
    assert mlir is not None
    assert {"enc.subfunc_0", "dec.subfunc_0", "enc.main", "dec.main"} <= {function.name for function in mlir.functions}
    names = {value.name for record in program.source.records for value in record.results}
    assert {"y", "y_MatMul"} & names
    assert "z_Softmax" in names


def test_what_needs_the_compiled_model_says_so() -> None:
    program = open_program(TOY)
    with pytest.raises(BadInput, match="is a recording; this needs the compiled model that was run"):
        _ = program.bmodel
    with pytest.raises(BadInput, match=r"a recording holds its inputs; leave .*inputs\.npz out"):
        tdb_dap.open(TOY, inputs="inputs.npz")
    with pytest.raises(BadExpression):
        program.require_ordinal(len(program.commands) + 1)


def test_ops_have_the_commands_that_a_static_compile_gives_them() -> None:
    """The sample is the same net, compiled statically with the same groups."""

    def by_op(program: Program) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for record in program.source.records:
            name = record.results[0].name if record.results else ""
            commands = (program.commands[ordinal] for ordinal in record.ordinals)
            found.setdefault((record.opcode, name), []).extend(c.name for c in commands if not c.is_system)
        return found

    static, dynamic = by_op(open_program(SAMPLE)), by_op(open_program(TOY))
    same = sum(len(names) for op, names in dynamic.items() if static.get(op) == names)
    assert same >= 0.95 * sum(map(len, dynamic.values()))
    assert [op for op, names in dynamic.items() if names] == [op for op, names in static.items() if names]


def test_the_branch_that_the_run_took_is_the_one_that_is_mapped() -> None:
    """The condition was false: the second branch multiplies, the first would have been a sigmoid."""
    program = open_program(BRANCHES)
    functions = [subnet.function for subnet in program.subnets if subnet.function.startswith("subfunc_")]
    assert functions == ["subfunc_0", "subfunc_3", "subfunc_5"]
    ops = [record.opcode for record in program.source.records if record.ordinals]
    assert ops[-4:] == ["tpu.Relu", "tpu.MulConst", "tpu.Store", "tpu.Active"]


def test_tensors_in_local_memory_have_the_shapes_of_this_run() -> None:
    program = open_program(SHAPES)
    assert [launch.shapes for launch in program.launches] == ["4×3×24×24", "2×3×24×24", "1×3×16×20"]
    expected = {
        0: {"load_0": (4, 3, 24, 24), "b_Relu": (4, 8, 24, 24), "c_MaxPool": (4, 8, 12, 12)},
        1: {"load_0": (2, 3, 24, 24), "b_Relu": (2, 8, 24, 24), "c_MaxPool": (2, 8, 12, 12)},
        2: {"load_0": (1, 3, 16, 20), "b_Relu": (1, 8, 16, 20), "c_MaxPool": (1, 8, 8, 10)},
    }
    for record in program.source.records:
        launch = program.launch_at(record.first) if record.ordinals else None
        for value in record.results if launch is not None else ():
            assert launch is not None
            shape = expected[launch.number].get(value.name)
            if shape is not None:
                assert value.view is not None
                assert value.view.shape == shape
                own = [program.commands[o].results[0] for o in record.ordinals if program.commands[o].results]
                assert any(isinstance(view, View) and view.address == value.view.address for view in own)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_sanitizers_find_nothing_in_correct_runs(path: Path) -> None:
    """The runtime's own copies belong to no op, and the firmware reads and writes L2 without commands."""
    done = command_line("sanitize", path, "--quiet", "--strict")
    assert (done.returncode, done.stdout.split(" in ")[0]) == (0, "no findings")


def test_an_input_of_which_no_command_reads_the_first_byte_is_where_the_host_put_it() -> None:
    """RoiAlign reads parts of it, the first at byte 152: its operand was said to be there, and to be overwritten."""
    program = opened(DATA / "memory" / "roi_align_bm1684x.tdbrec").program
    (align,) = (record for record in program.source.records if record.opcode == "tpu.RoiAlign")
    (view,) = (value.view for value in align.operands if value.name == "x")
    assert view is not None
    reads = [view.address for command in program.commands for view in command.operands if isinstance(view, View)]
    image = program.inputs[0].view
    assert (view.address, view.shape) == (image.address, image.shape)
    assert image.address not in reads
    assert image.address + 152 in reads


def test_the_waits_of_the_runtime_before_a_static_subnet_are_of_no_op() -> None:
    """BM1690's runtime waits for its cores before: two commands of each engine, which were those of the first ops."""
    program = opened(DATA / "memory" / "roi_align_bm1690.tdbrec").program
    (cast, *_) = (record for record in program.source.records if record.opcode == "tpu.Cast")
    assert [program.commands[ordinal].name for ordinal in cast.ordinals] == ["arith.cast"]
    (load, *_) = (record for record in program.source.records if record.opcode == "tpu.Load")
    assert [program.commands[ordinal].name for ordinal in load.ordinals] == ["dma.tensor"]
    before = {command.name for command in program.commands[: cast.first]}
    assert {"system.send_msg", "system.wait_msg"} <= before  # in which order with those of DMA, no two runs agree
