"""Commands, records and lines."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.engine.source.marks import Marks
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.tools.programs import open_program
from tests.known import known
from tests.samples import DATA, SAMPLE, Case, case, cases, typical

CONTEXTS = [SAMPLE, DATA / "contexts" / "sliced_int8", *(case.path for case in cases() if not case.is_dynamic)]


@pytest.mark.parametrize("path", typical(CONTEXTS), ids=lambda path: path.name)
def test_every_command_has_one_owner_and_every_owner_its_op(path: Path) -> None:
    program = open_program(path)
    source = program.source
    owned = [ordinal for record in source.records for ordinal in record.ordinals]
    assert sorted(owned) == [c.ordinal for c in program.commands if not c.is_system]
    for record in source.records:
        for ordinal in record.ordinals:
            assert source.records_of(ordinal) == (record,)
            assert program.commands[ordinal].mlir_lines == (record.line,)
        assert known(known(source.mlir).op_at(record.line)).name == record.opcode


# The vendor's order of toy_bm1690_int8 is wrong.
@pytest.mark.parametrize(
    "case",
    typical([c for c in cases() if not c.is_dynamic and c.name != "toy_bm1690_int8"]),
    ids=lambda case: case.name,
)
def test_lines_are_those_of_the_vendors_index(case: Case) -> None:
    program = open_program(case.path)
    for command, entry in zip(program.commands, case.trace, strict=True):
        if entry["line"]:
            assert command.mlir_lines == tuple(line for line, _ in entry["line"])


def test_slices_are_told_apart_and_named() -> None:
    source = open_program(DATA / "contexts" / "sliced_int8").source
    convolution = source.records_at(23)
    assert [record.slice_text for record in convolution] == [
        "h[0:84]", "h[74:160]", "h[150:236]", "h[226:312]", "h[302:384]",
    ]  # fmt: skip
    assert all(a.last < b.first for a, b in pairwise(convolution))


def test_a_slice_in_ddr_has_the_strides_of_the_whole_tensor() -> None:
    source = open_program(DATA / "contexts" / "sliced_int8").source
    load = next(r for r in source.records if r.opcode == "tpu.Load" and r.slice_text)
    (operand,) = load.operands
    view = known(operand.view)
    assert view.shape != operand.reshape
    assert known(view.strides)[2] == known(operand.reshape)[4]


def test_a_load_that_spreads_channels_is_not_compared() -> None:
    """Its bytes are not those of the layout that the record names: a comparison would fail a correct model."""
    source = open_program(DATA / "contexts" / "sliced_int8").source
    spread = [v for r in source.records for v in r.results if v.rearranged]
    assert {v.name for v in spread} == {"load_xrelu4_Relu_si8"}


def test_lines_without_commands_lead_to_the_next_one_that_has_some() -> None:
    source = open_program(SAMPLE).source
    assert source.next_line_with_commands(11) == 17
    assert source.next_line_with_commands(22) == 22
    assert source.next_line_with_commands(10_000) is None


def test_values_hold_what_the_reference_says() -> None:
    """Every tensor that the source map names, read through its view after its last command, equals the reference."""
    debugger = tdb_dap.open(SAMPLE, inputs=SAMPLE / "input.npz", reference=SAMPLE / "ref.npz")
    compared = 0
    for record in sorted((r for r in debugger.program.source.records if r.ordinals), key=lambda r: r.last):
        debugger.travel(record.last + 1)
        for value in record.results:
            comparison = known(debugger.reference).compare(debugger.machine, value)
            if comparison is not None:
                assert comparison.verdict == "pass", (value.name, comparison.summary)
                np.testing.assert_allclose(comparison.actual, comparison.expected, rtol=1e-3, atol=1e-5)
                compared += 1
    assert compared == 8


def test_packed_values_hold_what_the_reference_says() -> None:
    """BM1684 keeps four batches of 8-bit numbers in a word; its tables in L2 are recorded as if they were local."""
    (case,) = cases("toy_bm1684_int8")
    debugger = tdb_dap.open(case.path, inputs=case.inputs, reference=case.path / "ref.npz")
    passed, unknown = set(), set()
    for record in sorted((r for r in debugger.program.source.records if r.ordinals), key=lambda r: r.last):
        debugger.travel(record.last + 1)
        for value in record.results:
            comparison = known(debugger.reference).compare(debugger.machine, value)
            if comparison is not None:
                assert comparison.verdict == "pass", (value.name, comparison.summary)
                passed.add(value.layout)
            if value.view is None:
                unknown.add(value.layout)
    assert passed == {"eu_align_xn", "continuous_xn", "eu_align", "continuous"}
    assert unknown == {"eu_align"}


NECKS = [DATA / "contexts" / name for name in ("neck_bm1684_int8", "neck_bm1684x_int8")]
"""Detectors' necks: nearest resizes inside layer groups, convolutions of one pixel."""


@pytest.mark.parametrize("path", NECKS, ids=lambda path: path.name)
def test_what_a_record_names_is_what_the_command_moves(path: Path) -> None:
    """The index of a resize has the slice of the resized tensor beside it; weights on BM1684 the layout of batches."""
    program = open_program(path)
    loads = [record for record in program.source.records if record.opcode == "tpu.Load" and record.is_local]
    weights = {
        name for op in known(program.source.mlir).ops.values() if op.name == "top.Weight" for name in op.locations
    }
    moved = [(record, program.commands[record.first]) for record in loads if record.operands[0].name in weights]
    assert len(moved) > 15
    for record, command in moved:
        for named, view in ((record.operands[0], command.operands[0]), (record.results[0], command.results[0])):
            assert isinstance(view, View)
            if view.space in (Space.GLOBAL, Space.LOCAL):
                assert known(named.view).byte_ranges() == view.byte_ranges(), f"{named.name} of line {record.line}"


def test_a_load_that_takes_over_a_slice_begins_where_the_slice_does() -> None:
    """As of the second half of a split tensor, in a stage of YOLOv8 for two cores of BM1688."""
    form = " : (tensor<1x32x40x40xf16>) -> tensor<1x16x40x40xf16> loc(#loc)"
    text = (
        "#loc = loc(unknown)\n"
        "#map = affine_map<(d0, d1, d2, d3) -> (d0, d1 + 16, d2, d3)>\n"
        "#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>\n"
        '%1 = "tpu.Load"(%0) {indexing_map_s2l = #map, lmem_type = 1 : i64}FORM\n'
        '%2 = "tpu.Load"(%0) {indexing_map_s2l = #map1, lmem_type = 1 : i64}FORM\n'
    ).replace("FORM", form)
    marks = Marks(MlirFile(text, Path("final.mlir")))
    assert marks.shifts == {4: (0, 16, 0, 0)}, "the other one is no slice"
    target = open_program(case("toy_bm1688_f16c2").path).target
    tensor = {"layout": "continuous", "memory_type": "<1x16x40x40xf16>", "shape": [1, 16, 40, 40], "name": "split"}
    place = {"address": 0x100000000, "reshape": "<1x32x1x40x40>", "slice": "[0:1, 0:16, 0:1, 0:40, 0:40]", "type": ""}
    whole = MappedTensor({**tensor, **place}, target.geometry, 0, marks)
    part = whole.shifted(marks.shifts[4])
    assert whole.view is not None
    assert part.view is not None
    assert part.view.address - whole.view.address == 16 * 40 * 40 * 2
    assert part.slices is not None
    assert part.slices[1] == slice(16, 32)
    assert part.expected(np.arange(32 * 1600).reshape(1, 32, 40, 40))[0, 0, 0, 0, 0] == 16 * 1600


def test_the_index_of_a_resize_that_two_cores_share_begins_where_it_lies() -> None:
    """As in a detector for two cores of BM1688: the record of the second core is moved on by 20 rows of the image."""
    target = open_program(case("toy_bm1688_f16c2").path).target
    record = {"name": "indices", "layout": "continuous", "memory_type": "<1x32x20x40xi16>", "shape": [1, 32, 1, 50]}
    start, moved = 0x9000853000, 20 * 50 * 2
    place = {"address": start + moved, "reshape": "<1x32x1x1x50>", "slice": "[0:1, 0:32, 0:1, 20:40, 0:40]", "type": ""}
    value = MappedTensor({**record, **place}, target.geometry, 0)
    assert (value.address, value.shape, value.slices) == (start, (1, 32, 1, 50), None)
