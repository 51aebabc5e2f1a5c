"""Sanitizers: silent on correct models, and each finds the faults that it is for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from scripts.robustness.mutate_models.faults import DROPPED, LOWERED, SHIFTED, SHORTENED, SWAPPED
from scripts.robustness.mutate_models.judging import outcomes
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.engine.machine.edits import MemoryEdit
from tdb_dap.engine.machine.orders import schedule
from tdb_dap.engine.program.access_table import LOCAL
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.bounds import bounds
from tdb_dap.engine.sanitizers.float_accesses import FloatAccesses
from tdb_dap.engine.sanitizers.happens_before import timelines
from tdb_dap.engine.sanitizers.harmless import is_repeated, is_unneeded
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.errors import BadExpression
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tests.mutants import with_fault
from tests.samples import DATA, Case, case, cases, of_more_chips, typical

TOY = case("toy_bm1684x_f32")


def findings(debugger: Debugger, *names: str) -> tuple[Finding, ...]:
    return survey(debugger, made(chosen(names)), lambda done: None).findings


def opened(of: Case) -> Debugger:
    return open_debugger(of.path, of.inputs)


EXPECTED = {
    # docs/sanitizers.md explains each of them.
    "ew_bcast_bm1684_int8": {"bounds"},
    "log_softmax_bm1684_f32": {"nan"},
    "scatter_nd_bm1684x_f32": {"unused"},
    "scatter_nd_bm1684x_int8": {"unused"},
    "scatter_nd_bm1690_f16c8": {"unused"},
    "scatter_nd_bm1684x2_bf16": {"unused"},
    "linear3d_bm1684x2_w4f16": {"unused"},
}


@pytest.mark.parametrize(
    "of", typical([*(c for c in cases() if not c.is_dynamic), *of_more_chips()]), ids=lambda c: c.name
)
def test_correct_models_have_no_findings_but_the_known_ones(of: Case) -> None:
    found = findings(opened(of), "all")
    assert {finding.filter for finding in found} == EXPECTED.get(of.name, set()), [f.text for f in found]


CORRECT = {
    "neck_bm1684_int8": "indices of a resize in a group; weights whose batches do not share words",
    "neck_bm1684x_int8": "indices of a resize in a group",
    "gate_bm1684_int8": "a table in L2 beyond those of the firmware; a vector read in whole lines",
    "rows_bm1684_int8": "a transpose unpacks four batches of which there is one",
    "pads_bm1684x_f32": "stores that pad what they store: their records name the part that is not padded",
    "parts_cv181x_bf16": "the left factor of a product loaded anew for each part, while the part before reads it",
    "reach_bm1684x_f32": "columns of padding that no window of a convolution reaches",
    "wide_bm1684x_f16": "a part of a bias loaded for a round of a loop that does not come",
    "attend_bm1690_f16c8": "the state of a loop saved in its last round; a table for cores without a part of the work",
}
"""Of networks of the size that people have: what was once taken for a fault."""


@pytest.mark.parametrize("name", CORRECT)
def test_correct_parts_of_real_networks_are_no_faults(name: str) -> None:
    path = DATA / "contexts" / name
    found = findings(open_debugger(path, path / "input.npz"), "all")
    assert [finding.text for finding in found] == []


@pytest.mark.parametrize("name", CORRECT)
def test_they_have_no_errors_where_no_op_is_known(name: str, tmp_path: Path) -> None:
    """The file of a model alone: what nobody uses is a warning then."""
    [model] = (DATA / "contexts" / name).glob("*model.xz")
    alone = Path(shutil.copy(model, tmp_path))
    reported = findings(open_debugger(alone, DATA / "contexts" / name / "input.npz"), "all")
    assert [finding.text for finding in reported if finding.filter != "unused"] == []


@pytest.mark.parametrize("name", ["gate_bm1684_int8", "rows_bm1684_int8", "attend_bm1690_f16c8"])
def test_they_compute_what_the_vendors_runtime_does(name: str) -> None:
    path = DATA / "contexts" / name
    debugger = open_debugger(path, path / "input.npz")
    assert debugger.run().reason == "end"
    with np.load(path / "runtime.npz") as truth:
        outputs = debugger.inspector.outputs()
        assert list(outputs) == truth.files
        assert all(np.array_equal(outputs[name], truth[name].reshape(outputs[name].shape)) for name in truth.files)


def test_a_loop_whose_state_is_not_its_own_is_reported() -> None:
    """As the state of the last round, but of a value that nobody else uses, or not of the state before it."""
    path = DATA / "contexts" / "attend_bm1690_f16c8"
    program = open_program(path)
    [state, *_] = [c for c in program.commands if c.name == "arith.copy" and "%R5.0x40 f16[1,32,1,1]" in c.asm][1:]
    assert is_unneeded(program, state.ordinal, lambda row: True)
    assert not is_unneeded(program, state.ordinal, lambda row: False), "the value that is saved is lost with it"
    assert not is_unneeded(program, state.ordinal + 1, lambda row: True)


def test_only_the_last_load_of_an_op_may_begin_again() -> None:
    """Of a product in two parts: the others are of new places, and another load of such a place comes after none."""
    program = open_program(DATA / "contexts" / "wide_bm1684x_f16")
    loads = [c for c in program.commands if c.name.startswith("dma.tensor") and "%R" in c.asm.split("=")[0]]
    unneeded = [is_unneeded(program, command.ordinal, lambda row: True) for command in loads]
    assert unneeded == [False] * (len(loads) - 1) + [True]
    assert loads[-1].asm.split("source = ")[1][:9] == loads[-4].asm.split("source = ")[1][:9]


def test_only_what_the_next_op_leaves_out_of_a_tensor_is_out_of_reach() -> None:
    program = open_program(DATA / "contexts" / "reach_bm1684x_f32")
    [pad, *_] = [record for record in program.source.records if record.opcode == "tpu.Pad"]
    stored = [number for number in pad.ordinals if "= dma" in program.commands[number].asm]
    assert [is_unneeded(program, number, lambda row: True) for number in stored] == [True] * len(stored)
    last = program.source.records[-1]
    assert not any(is_unneeded(program, number, lambda row: True) for number in last.ordinals), (
        "nobody takes its result"
    )


def test_of_packed_batches_only_those_that_do_not_exist_are_not_missed() -> None:
    path = DATA / "contexts" / "rows_bm1684_int8"
    program = open_program(path)
    masks = [c for c in program.commands if c.name == "arith.and" and c.ordinal < 30]
    found = [is_unneeded(program, command.ordinal, lambda row: True) for command in masks[:4]]
    assert found == [False, True, True, True]


def test_what_every_core_executes_whole_is_no_race_until_they_differ() -> None:
    """A softmax that four cores compute alike is none; the same writes with a message that is lost to one core are."""
    path = DATA / "chips" / "sg2380" / "toy_sg2380_int8c4"
    program = open_program(path)
    last = [record.last for record in program.source.records if record.opcode == "tpu.Softmax"]
    assert len(last) == 4
    assert all(is_repeated(program, one, other) for one in last for other in last if one != other)
    assert not is_repeated(program, last[0], last[0])
    assert not is_repeated(program, last[0], last[1] - 1)


def test_messages_of_both_engines_say_the_same() -> None:
    """Counts stand at another bit in the DMA commands of BM1684X2."""
    program = open_program(DATA / "chips" / "bm1684x2" / "toy_bm1684x2_f16c4")
    messages = {program.message_of(ordinal) for ordinal in range(len(program.commands))} - {None}
    assert {(message.number, message.count) for message in messages if message is not None} == {(24, 8), (25, 8)}


# Faults


def test_a_dropped_load_leaves_bytes_unwritten_and_its_origin_is_told() -> None:
    [found] = findings(with_fault(TOY, DROPPED, "2 D3"), "uninitialized")
    assert found.filter == "uninitialized"
    assert "B1 conv.normal takes 12,288 of 12,288 bytes from R0 that are uninitialised as input" in found.text
    assert found.related == (2,), "the command that took them up; what it spoils later is not told again"


def test_a_shortened_load_is_found_where_the_missing_bytes_get_out() -> None:
    [found] = findings(with_fault(TOY, SHORTENED, "7 D5"), "uninitialized")
    assert "stores to" in found.text


def test_a_shifted_address_leaves_the_buffers_of_its_op() -> None:
    found = findings(with_fault(TOY, SHIFTED, "7 D5"), "bounds")
    assert any("beyond the buffers of tpu.Load at line 21" in finding.text for finding in found)


def test_scratch_space_that_firmware_uses_is_in_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    program = open_debugger(case("ew_bcast_bm1684_int8").path).program
    assert any("beyond the buffers of tpu.Min" in finding.text for finding in bounds(program))
    monkeypatch.setattr(type(program), "of_firmware", range(len(program.commands)))
    assert not list(bounds(program))


@pytest.mark.parametrize(("column", "by"), [("lane", 8), ("start", 1 << 20)])
def test_an_access_in_many_pieces_is_one_finding(column: str, by: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged model has thousands of them, each in a lane that is not there."""
    [toy] = [model for model in of_more_chips() if model.name == "toy_cv180x_int8"]
    debugger = open_debugger(toy.path)
    rows = debugger.program.access_rows
    views, pieces = np.unique(rows.view[rows.space == LOCAL], return_counts=True)
    mine = rows.view == views[pieces.argmax()]
    assert mine.sum() == 16
    stop = "lane_stop" if column == "lane" else "stop"
    moved = {name: getattr(rows, name) + by * mine for name in (column, stop)}
    monkeypatch.setitem(vars(debugger.program), "access_rows", replace(rows, **moved))
    [found] = findings(debugger, "bounds")
    wanted = "lane 9 does not exist: there are 2" if column == "lane" else "bytes beyond the end of its lane"
    assert wanted in found.text


def test_an_op_whose_commands_are_in_doubt_has_no_known_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(with_fault(TOY, SHIFTED, "7 D5"), "bounds")
    monkeypatch.setattr(OpRecord, "is_certain", False)
    assert not findings(with_fault(TOY, SHIFTED, "7 D5"), "bounds")


def test_a_lowered_dependency_is_a_hazard_with_both_commands_and_the_missing_edge() -> None:
    debugger = with_fault(TOY, LOWERED, "57 D12")
    [*_, found] = findings(debugger, "hazard")
    assert (found.focus, len(found.related)) == (57, 1)
    assert "and nothing orders them: D12 waits for B" in found.text
    assert len(outcomes(debugger.program, debugger.machine.inputs)) > 1, "it can come out in more than one way"


def test_swapped_commands_leave_a_result_unused() -> None:
    texts = [finding.text for finding in findings(with_fault(TOY, SWAPPED, "44 B34"), "unused")]
    assert any("are not read before" in text for text in texts)


# In both directions of time


@pytest.mark.parametrize(("kind", "start", "name"), [(DROPPED, "2 D3", "uninitialized"), (LOWERED, "57 D12", "hazard")])
def test_stops_are_the_same_from_either_side(kind: str, start: str, name: str) -> None:
    debugger = with_fault(TOY, kind, start)
    debugger.set_checks(filters_named({name: None}))
    forwards = []
    while (stop := debugger.run()).reason != "end":
        forwards.append((stop.ordinal, stop.text))
    assert forwards
    fresh = with_fault(TOY, kind, start)
    fresh.set_checks(filters_named({name: None}))
    fresh.travel(len(fresh.program.commands))
    backwards = []
    while (stop := fresh.reverse()).reason != "entry":
        backwards.append((stop.ordinal, stop.text))
    last = len(fresh.program.commands)
    assert backwards[::-1] == [moment for moment in forwards if moment[0] < last]


def test_an_edit_defines_bytes_and_undo_takes_that_back() -> None:
    debugger = with_fault(TOY, DROPPED, "2 D3")
    debugger.set_checks(filters_named({"uninitialized": None}))
    assert debugger.run().reason == "exception"
    debugger.travel(2)
    debugger.write("in[1]", 0)
    assert isinstance(debugger.machine.edits[0], MemoryEdit)
    assert debugger.run().reason == "end"
    debugger.undo_edit()
    assert debugger.run().reason == "exception"


# Numbers


@pytest.mark.parametrize(("name", "numbers"), [("nan", (np.inf, 0)), ("inf", (3e38, 3e38)), ("denormal", (1e-39, 1))])
def test_only_the_birth_of_a_special_number_is_reported(name: str, numbers: tuple[float, float]) -> None:
    debugger = opened(TOY)
    debugger.set_checks(filters_named({name: None}))
    debugger.travel(3)
    for operand, number in zip(("in[0]", "in[1]"), numbers, strict=True):
        debugger.write(operand, number)
    stop = debugger.run()
    if name == "denormal":
        assert stop.finding is None or stop.finding.focus != 3, "the operands hold some already"
        return
    assert stop.finding is not None
    assert (stop.finding.filter, stop.finding.focus) == (name, 3)
    assert "of operands that hold none; the first at [0, 0, 0, 0]" in stop.text
    after = debugger.step(3)
    assert after.reason == "step", "what spreads them is not reported"
    debugger.step(1)
    debugger.reverse()
    assert debugger.last_stop.finding is not None
    assert debugger.last_stop.text == stop.text


def test_a_nan_in_a_weight_is_found_where_it_is_taken_although_relu_hides_it(tmp_path: Path) -> None:
    path = tmp_path / "compilation.bmodel"
    for name in ("final.mlir", "tensor_location.json.xz"):
        shutil.copyfile(TOY.path / name, tmp_path / name)
    program = open_program(TOY.path)
    with Editor(program, path) as editor:
        editor.set_weight("w1", np.float32("nan"))
    debugger = open_debugger(tmp_path, TOY.inputs)
    debugger.set_checks(filters_named({"nan": None}))
    stop = debugger.run()
    assert "takes from the weight w1, in which 432 of 432 numbers are NaN" in stop.text
    assert debugger.run().reason == "end", "once is enough"


def test_a_nan_that_the_user_writes_into_a_weight_is_found_where_it_is_taken() -> None:
    debugger = open_debugger(TOY.path, TOY.inputs)
    assert len(debugger.program.access_rows)  # from then on they say which commands read a weight
    debugger.set_checks(filters_named({"nan": None}))
    debugger.step(1)
    values = (value for record in debugger.program.source.records for value in record.operands)
    view = next(value.view for value in values if value.name == "w1" and value.view is not None)
    debugger.machine.write(view, np.full(view.shape, np.nan))
    assert "takes from the weight w1, in which 432 of 432 numbers are NaN" in debugger.run().text


def test_saturate_counts_what_is_clipped() -> None:
    debugger = open_debugger(case("toy_bm1684x_int8").path, case("toy_bm1684x_int8").inputs)
    debugger.set_checks(filters_named({"saturate": "0.1%"}))
    stop = debugger.run()
    assert stop.finding is None or stop.finding.filter == "saturate"
    with pytest.raises(BadExpression, match="not a percentage"):
        debugger.set_checks(filters_named({"saturate": "150%"}))


# Descriptors


def test_reserved_bits_ids_and_waits_are_looked_at() -> None:
    debugger = opened(TOY)
    columns = debugger.program.commands.columns
    columns.id[10:] += 1
    columns.dependency[57] = 99
    texts = [finding.text for finding in findings(debugger, "decode")]
    assert any("its id is" in text and "should be" in text for text in texts)
    assert any("waits for TIU command 99, and the last one is" in text for text in texts)


@pytest.mark.parametrize(("is_fill", "count"), [(True, 0), (False, 1)])
def test_bits_after_the_source_of_a_fill_may_hold_anything(is_fill: bool, count: int) -> None:
    """Compilers leave there what was on their stack; after the address of a source that is read it is an error."""
    path = DATA / "contexts" / "pads_bm1684x_f32"
    debugger = open_debugger(path, path / "input.npz")
    commands = debugger.program.commands
    moves = [c for c in commands if c.name == "dma.tensor" and isinstance(c.operands[0], Constant) == is_fill]
    commands.payload.flags.writeable = True
    commands.payload[int(commands.columns.offset[moves[0].ordinal]) + 552 // 8] |= 1
    texts = [finding.text for finding in findings(debugger, "decode")]
    assert [text.partition(": ")[2] for text in texts] == ["reserved bit 552 is set (1 such bits)"] * count


# Order


def test_clocks_agree_with_every_schedule() -> None:
    """What a clock calls finished is finished in the two orders that are furthest apart."""
    for name in ("toy_bm1684x_f32", "toy_bm1688_f16c2", "toy_bm1690_f16c8"):
        program = open_program(case(name).path)
        lines = timelines(program, 0)
        for sign in (1, -1):

            def first(key: tuple[int, str], sign: int = sign) -> tuple[int, int]:
                return sign * key[0], sign * (key[1] == "dma")

            order = list(schedule(program, first))
            assert sorted(order) == list(range(len(program.commands)))
            moment = {ordinal: position for position, ordinal in enumerate(order)}
            for line in lines:
                for ordinal in line.ordinals.tolist()[:: max(1, len(line.ordinals) // 20)]:
                    for other, finished in zip(
                        lines, line.clocks[int(np.searchsorted(line.ordinals, ordinal))].tolist(), strict=True
                    ):
                        assert all(moment[o] < moment[ordinal] for o in other.ordinals[:finished].tolist())


def test_places_can_be_cut() -> None:
    place = ByteRanges(Space.LOCAL, 0, np.array([[0, 10], [20, 30]]))
    rest = place.without(ByteRanges(Space.LOCAL, 0, np.array([[5, 25]])))
    assert rest is not None
    assert rest.runs.tolist() == [[0, 5], [25, 30]]
    assert place.without(ByteRanges(Space.LOCAL, 0, np.array([[0, 40]]))) is None
    shared = place.intersection(ByteRanges(Space.LOCAL, 0, np.array([[5, 25]])))
    assert shared is not None
    assert shared.runs.tolist() == [[5, 10], [20, 25]]
    assert place.intersection(ByteRanges(Space.GLOBAL, 0, np.array([[0, 40]]))) is None


# The compiler's own faults


@pytest.mark.parametrize(
    ("name", "sanitizer", "text"),
    [
        ("act_misc_bm1684_f32", "hazard", "D2 dma reads 960 bytes from R2 on which B22 arith.min writes"),
        (
            "deconv_bm1684_int8",
            "uninitialized",
            "14 of 16 bytes from R4 that are uninitialised as bias",
        ),
        ("toy_bm1690_f16c4", "hazard", "c3.D6 waits for c3.B2 and not for c3.B4"),
    ],
)
def test_faults_of_a_real_compiler_are_found(name: str, sanitizer: str, text: str) -> None:
    folder = DATA / "findings" / name
    found = findings(open_debugger(folder, folder / "input.npz"), sanitizer)
    assert text in found[0].text


def test_suppressed_places_are_left_out() -> None:
    folder = DATA / "findings" / "toy_bm1690_f16c4"
    debugger = open_debugger(folder, folder / "input.npz")
    for pattern in ("gemm15*", "tpu.MatMul", "mlir:36", "D6", "B4"):
        assert not findings(debugger, f"hazard: {pattern}"), pattern
    assert findings(debugger, "hazard: conv*")
    with pytest.raises(BadExpression, match="there is no sanitizer 'leak'; there are all, bounds"):
        chosen(["leak"])


def test_moves_are_no_origin_of_a_special_number() -> None:
    debugger = opened(case("toy_bm1684x_int8"))
    commands, rows = debugger.program.commands, debugger.program.access_rows
    making = FloatAccesses(rows, commands.columns.engine).making
    floats = [c for c in commands if any(isinstance(v, View) and v.dtype.is_float for v in c.results)]
    assert all(making[c.ordinal] for c in floats if c.engine == "tiu")
    moves = [c for c in floats if c.engine == "dma"]
    assert moves
    assert not any(making[c.ordinal] for c in moves)
