"""A new chip is a page of data: the chip of made_up_chip.py decodes, prints, runs, steps back and checks itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tdb_dap.engine.context import Context
from tdb_dap.engine.debugger import Debugger
from tdb_dap.engine.machine import Machine
from tdb_dap.engine.program import Program
from tdb_dap.targets.self_check import check
from tests.bmodels import Border, Model, Stream
from tests.targets.made_up_chip import DDR, MADE_UP

SHAPE = (1, 6, 2, 3)  # six channels on four lanes: two rows per lane
SIZES = dict(zip("nchw", SHAPE, strict=True))
BYTES = 4 * 36
STRIDES = dict(zip("nchw", (36, 6, 3, 1), strict=True))
FLOAT = 2


def descriptor(mnemonic: str, **fields: int) -> bytes:
    instruction = next(i for i in MADE_UP.instruction_set.instructions if i.mnemonic == mnemonic)
    kind, sub = ("tsk_typ", "tsk_eu_typ") if instruction.engine == "tiu" else ("cmd_type", "cmd_sp_func")
    head = {"cmd_short": 1, kind: instruction.kind, sub: instruction.sub}
    return instruction.encode(bytes(instruction.size), **head, **fields)


def move(number: int, waits_for: int, source: int, destination: int) -> bytes:
    sizes = {f"{side}_{axis}size": extent for side in ("src", "dst") for axis, extent in SIZES.items()}
    ends = {"src_start_addr_l32": source, "dst_start_addr_l32": destination}
    return descriptor(
        "dma.tensor", cmd_id=number, cmd_id_dep=waits_for, src_data_format=FLOAT, nchw_copy=1, **sizes, **ends
    )


def arithmetic(name: str, number: int, waits_for: int, left: int, right: int, result: int) -> bytes:
    sizes = {f"res0_{axis}": extent for axis, extent in SIZES.items()}
    formats = dict.fromkeys(("opd0_prec", "opd1_prec", "res0_prec"), FLOAT)
    places = {"opd0_addr": left, "opd1_addr": right, "res0_addr": result}
    return descriptor(name, cmd_id=number, cmd_id_dep=waits_for, tsk_opd_num=2, **sizes, **formats, **places)


def test_a_page_of_data_is_a_chip(tmp_path: Path) -> None:
    page = Path(__file__).with_name("made_up_chip.py").read_text()
    assert len(page.splitlines()) < 150
    assert "\n    def " not in page, "no methods: data only"

    tiu = [arithmetic("arith.add", 1, 2, 0, 1024, 2048), arithmetic("arith.mul", 2, 2, 2048, 0, 0)]
    dma = [move(1, 0, DDR, 0), move(2, 0, DDR + BYTES, 1024), move(3, 2, 0, DDR + 2 * BYTES)]
    a, b, y = (Border(name, SHAPE, DDR + index * BYTES) for index, name in enumerate("aby"))
    streams = Stream(b"".join(tiu), len(tiu)), Stream(b"".join(dma), len(dma))
    file = Model("MADE_UP", *streams, inputs=(a, b), outputs=(y,), activations=(DDR, 3 * BYTES)).write(
        tmp_path / "made_up.bmodel"
    )

    program = Program(Context.find(file), lambda chip, file: MADE_UP)
    assert [command.token for command in program.commands] == ["D1", "D2", "B1", "B2", "D3"]
    assert "B1: %R2 f32[1,6,2,3] = arith.add(left = %R0 f32[1,6,2,3], right = %R1 f32" in program.commands[2].asm
    assert check(MADE_UP).problems == ()

    machine = Machine(program)
    rng = np.random.default_rng(1)
    given = {name: rng.standard_normal(SHAPE).astype(np.float32) for name in "ab"}
    machine.load_inputs({name: numbers.view(np.uint32) for name, numbers in given.items()})
    debugger = Debugger(program, machine, None)
    debugger.breakpoints.add("arith.mul")
    assert debugger.run().ordinal == 3
    assert debugger.run().reason == "end"
    expected = (given["a"] + given["b"]) * given["a"]
    assert np.array_equal(debugger.outputs()["y"], expected)
    debugger.travel(3)
    assert np.array_equal(debugger.read("in[0]"), given["a"] + given["b"])
