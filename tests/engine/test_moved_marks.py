"""Marks of undefined bytes follow moves without their words: as execution with two fillings finds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.target import Moving
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.sanitizers.lifetimes import Lifetimes
from tdb_dap.engine.sanitizers.shadow import Defined
from tdb_dap.engine.sanitizers.taint import dependent, moved
from tdb_dap.errors import NotSimulated
from tdb_dap.tools.opening import open_debugger
from tests.samples import DATA, case, cases, of_more_chips, typical
from tests.targets.commands import chip_named, encoded


def some_marks(view: View, by_byte: bool, seed: int) -> Array:
    """Random words of which half are marked, or half of the bytes of each."""
    random = np.random.default_rng(seed)
    every = view.dtype.bits_dtype.type(np.iinfo(view.dtype.bits_dtype).max)
    if not by_byte or view.dtype.per_byte > 1:
        return np.where(random.integers(0, 2, view.shape) == 1, every, view.dtype.bits_dtype.type(0))
    marked = random.integers(0, 2, (*view.shape, view.dtype.itemsize)).astype(np.uint8) * np.uint8(255)
    return marked.view(view.dtype.bits_dtype).reshape(view.shape)


@pytest.mark.parametrize("model", typical([sample.path for sample in [*cases(), *of_more_chips()]]))
def test_a_move_depends_on_what_two_fillings_say(model: Path) -> None:
    debugger = open_debugger(model)
    target, memory = debugger.program.target, debugger.machine.memory
    assert isinstance(target, Moving)
    for command in debugger.program.commands:
        if command.is_system or not command.has_descriptor:
            continue
        try:
            description = command.description
        except NotSimulated:
            continue
        if not target.is_move(description):
            continue
        (view,) = (operand for operand in description.reads if isinstance(operand, View))
        for by_byte in (False, True):
            marks = {view: some_marks(view, by_byte, command.ordinal)}
            by_marks, by_words = moved(target, description, marks), dependent(target, description, memory, marks)
            if by_marks is None:
                with pytest.raises(NotSimulated):  # an illegal one
                    target.execute(description, memory)
                continue
            assert not by_marks.clears
            assert by_marks.results.keys() == by_words.results.keys()
            for result, depends in by_words.results.items():
                # Two fillings may agree in a byte of a word by chance: they show less, and never more.
                assert not (depends & ~by_marks.results[result]).any(), command.asm
                if not by_byte:
                    np.testing.assert_array_equal(by_marks.results[result], depends, command.asm)


def test_an_op_that_computes_is_none_and_neither_is_one_that_adds_to_its_destination() -> None:
    chip = chip_named("BM1684X")
    shape = {"res0_n": 1, "res0_c": 4, "res0_h": 1, "res0_w": 8}
    for name, is_move in (("arith.copy", True), ("arith.abs", False)):
        precision = {"opd0_prec": 2, "opd1_prec": 2, "res0_prec": 2}
        values = {"res0_addr": 12288, "tsk_opd_num": 1, **precision, **shape}
        description = chip.describe(*encoded(chip, name, **values), 0, {})
        (view,) = (operand for operand in description.reads if isinstance(operand, View))
        assert chip.is_move(description) == is_move
        assert (moved(chip, description, {view: some_marks(view, False, 1)}) is not None) == is_move
    adding = open_debugger(DATA / "chips" / "bm1684" / "lrn_bm1684_int8").program
    target, every = adding.target, [command.description for command in adding.commands if command.has_descriptor]
    assert isinstance(target, Moving)
    shifts = [description for description in every if description.name == "dma.lrn_shift"]
    assert shifts
    assert not any(map(target.is_move, shifts))


@pytest.mark.parametrize("model", typical([sample.path for sample in cases() if not sample.is_dynamic]))
def test_a_result_that_is_overwritten_is_written_byte_by_byte_and_not_read(model: Path) -> None:
    program = open_debugger(model).program
    defined, rows, lifetimes = Defined(program.access_rows), program.access_rows, Lifetimes(program)
    for start in (start for ordinal in range(len(program.commands)) for start in lifetimes.at(ordinal)):
        stop = start.record.last + 1
        for view in start.results:
            if not defined.overwrites(start.record.first, stop, view):
                continue
            place, reads, writer = ByteRanges.of(view), list[ByteRanges](), -1
            for row in (row for each in range(start.record.first, stop) for row in rows.of_command(each)):
                if int(rows.ordinal[row]) > writer >= 0:
                    break
                other = ByteRanges.of(rows.views[int(rows.view[row])])
                if not rows.is_write[row]:
                    reads.append(other)
                elif place.without(other) is None:
                    writer = int(rows.ordinal[row])
            assert writer >= 0
            assert not any(other.overlaps(place) for other in reads)


def test_a_tensor_that_is_changed_in_place_is_not_overwritten() -> None:
    program = open_debugger(case("toy_bm1684x_f32").path).program
    defined = Defined(program.access_rows)
    convolution, maximum = program.commands[3], program.commands[4]
    (result,) = (view for view in convolution.description.results if isinstance(view, View))
    assert result in maximum.description.results
    first, behind = convolution.ordinal, maximum.ordinal + 1
    assert defined.overwrites(first, behind, result)
    assert defined.overwrites(first - 1, behind, result)
    assert not defined.overwrites(first - 1, first, result)
    assert not defined.overwrites(maximum.ordinal, behind, result)
