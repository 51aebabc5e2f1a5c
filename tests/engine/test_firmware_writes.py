"""Bytes that the chip's processor writes without a command, such as shapes: the host reads them, so they are recorded.

``shape_bm1684x``: dimensions of a tensor, which no command touches. ``gather_bm1684``: one of them, which the firmware
computes in separate memory and a command copies from there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.machine.provenance import provenance_of
from tdb_dap.engine.program.recorded_program import RecordedProgram
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.engine.recording.writer import Writer
from tdb_dap.engine.sanitizers.decoding import decoding
from tests.command_line import tdb_dap
from tests.engine.test_recordings import RECORDINGS, opened
from tests.known import view_of
from tests.samples import DATA

SHAPE = DATA / "memory" / "shape_bm1684x.tdbrec"
GATHER = DATA / "memory" / "gather_bm1684.tdbrec"
TOPK = DATA / "memory" / "topk_bm1684x.tdbrec"


def replayed(file: Path) -> tuple[Debugger, RecordedProgram]:
    debugger = opened(file)
    assert isinstance(debugger.program, RecordedProgram)
    return debugger, debugger.program


@pytest.mark.parametrize("file", [SHAPE, GATHER, TOPK, *RECORDINGS], ids=lambda file: file.stem)
def test_every_byte_that_the_host_read_is_in_the_replay(file: Path) -> None:
    debugger, program = replayed(file)
    read = {row: a for row, a in program.events.actions.items() if a.name == "host.copy_out"}
    assert read
    assert not any(action.is_unknown for action in read.values())
    seen = 0
    for row, action in read.items():
        if action.digest is not None and action.place is not None:
            debugger.machine.travel(row)
            place = action.place
            assert form.hash_of(debugger.machine.memory.bytes_at(place.space, place.start, place.size)) == action.digest
            seen += 1
    assert seen


@pytest.mark.parametrize(("file", "expected"), [(SHAPE, [2]), (GATHER, [3])], ids=["shape", "gather"])
def test_the_output_is_that_of_the_runtime(file: Path, expected: list[int]) -> None:
    debugger, _ = replayed(file)
    assert debugger.run().reason == "end"
    [output] = debugger.outputs().values()
    assert np.asarray(output).tolist() == expected


def test_the_firmware_is_the_writer_of_a_shape_and_not_before_it_ran() -> None:
    debugger, program = replayed(SHAPE)
    machine, [output] = debugger.machine, program.outputs
    machine.travel(len(program.commands))
    writer = machine.accesses.last_writer(ByteRanges.of(output.view), machine.ordinal)
    assert writer is not None
    assert program.commands[writer].name == "host.change"
    assert "the host or the firmware" in program.commands[writer].description.summary
    machine.travel(writer)
    assert not machine.memory.read(output.view).any()
    machine.travel(writer + 1)
    assert machine.memory.read(output.view).tolist() == [2]


def test_a_breakpoint_on_the_output_stops_where_the_firmware_has_written_it() -> None:
    debugger, program = replayed(SHAPE)
    [output] = program.outputs
    debugger.breakpoints.add(f"data:G{output.view.address:#x}+4:write")
    stop = debugger.run()
    assert stop.reason == "breakpoint"
    assert program.commands[stop.ordinal - 1].name == "host.change"


def test_what_the_host_copied_in_is_there_from_the_start_and_no_change() -> None:
    """Near miss: the input is in the block that a command touches first, beside what the firmware wrote."""
    debugger, program = replayed(GATHER)
    changed = [view_of(one) for c in program.commands if c.name == "host.change" for one in c.results]
    assert {view.space for view in changed} == {Space.STATIC}
    copied = view_of(next(c for c in program.commands if c.name == "host.copy_in").results[0])
    before = debugger.machine.memory.read(copied).copy()
    assert before.any()
    debugger.run()
    assert (debugger.machine.memory.read(copied) == before).all()


def test_a_command_reads_the_memory_of_the_processor() -> None:
    debugger, program = replayed(GATHER)
    [reader] = [c for c in program.commands if any(getattr(o, "space", None) is Space.STATIC for o in c.operands)]
    source = view_of(reader.operands[0])
    debugger.machine.travel(reader.ordinal)
    assert debugger.machine.memory.read(source).view(np.int32).ravel().tolist() == [3]
    writer = debugger.machine.accesses.last_writer(ByteRanges.of(source), reader.ordinal)
    assert writer is not None
    assert program.commands[writer].name == "host.change"


def test_an_engine_that_is_not_decoded_reads_the_inputs_of_the_net() -> None:
    """Top-k by the engine that sorts: nothing shows what it reads, and the firmware gives it the net's own input."""
    debugger, program = replayed(TOPK)
    record = next(record for record in program.source.records if record.opcode == "tpu.TopK")
    x = next(tensor for tensor in program.inputs if tensor.name == "x")
    assert record.operands[0].view == x.view
    assert [value.name for value in record.operands] == ["x", "v_TopK_buffer_val", "v_TopK_buffer_idx"]
    assert [value.view for value in record.results] == [tensor.view for tensor in program.outputs[:2]]
    debugger.machine.travel(record.first)
    shown = debugger.evaluate("in[0]", debugger.scope(record.first, "op"))
    assert np.array_equal(shown.array, debugger.machine.read(x.view))


def test_bytes_of_a_recorded_block_that_the_firmware_left_alone_are_still_the_command_s() -> None:
    """The result of Relu is in a block that the firmware writes a shape into, which is recorded again as a whole."""
    debugger, program = replayed(TOPK)
    machine = debugger.machine
    machine.travel(len(program.commands))
    z = ByteRanges.of(next(tensor.view for tensor in program.outputs if tensor.name == "z_Relu"))
    recorded_again = machine.accesses.last_writer(z, machine.ordinal)
    assert recorded_again is not None
    assert program.commands[recorded_again].name == "host.change"
    origin = provenance_of(machine, z)
    assert origin is not None
    assert program.commands[origin.ordinal].name == "dma.tensor"
    assert machine.ordinal == len(program.commands)


def test_a_recording_that_does_not_hold_what_the_host_read_says_so(tmp_path: Path) -> None:
    recording = Recording.read(SHAPE)
    file = tmp_path / "without.tdbrec"
    with Writer(file, recording.head) as writer:
        for index, (kind, flags, core, _, _) in enumerate(recording.events.tolist()):
            payload = bytes(recording.payload(index))
            if kind != form.Event.BLOCK or payload[:1] != b"G":
                writer.events(form.event(kind, payload, flags=flags, core=core))
        for name, content in recording.files.items():
            writer.attach(name, content)
        writer.done({})
    stop = opened(file).run()
    assert stop.reason == "exception"
    assert "the recording does not hold the 40 bytes from %G84959232 that the host read; record" in stop.text
    done = tdb_dap("run", file)
    assert done.returncode == 1
    assert "record the program again" in done.stdout


@pytest.mark.parametrize("file", [GATHER, TOPK, *RECORDINGS], ids=lambda file: file.stem)
def test_bits_without_meaning_in_its_commands_are_no_error(file: Path) -> None:
    """It makes descriptors on its stack, and leaves in such bits what was there; of compiled ones they are an error."""
    _, program = replayed(file)
    columns, payload = program.commands.columns, program.commands.payload
    payload.flags.writeable = True
    filled = [0, 0]
    for row in np.flatnonzero(columns.kind >= 0).tolist():
        kind, start = int(columns.kind[row]), int(columns.offset[row])
        word = program.target.reserved_bits(kind).to_bytes(program.target.kind_size(kind), "little")
        payload[start : start + len(word)] |= np.frombuffer(word, np.uint8)
        filled[row in program.of_firmware] += any(word)
    findings = [finding for finding in decoding(program) if "reserved" in finding.text]
    assert filled[True]
    assert bool(findings) == bool(filled[False])
    assert not any(finding.focus in program.of_firmware for finding in findings)
    columns.id[row] += 1
    assert any("its id is" in finding.text for finding in decoding(program))
