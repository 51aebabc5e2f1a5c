"""The listing in the vendor's words, byte for byte, wherever the vendor's tool has printed one."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

import tdb_dap
from tdb_dap.errors import BadInput
from tdb_dap.tools.disassemble.vendor_module import vendor_lines
from tdb_dap.tools.programs import open_program
from tests.samples import DATA

SEVERAL = DATA / "contexts" / "nets_and_stages"


@pytest.mark.parametrize("file", sorted(DATA.rglob("disasm.txt.xz")), ids=lambda file: file.parent.name)
def test_the_listing_is_the_vendors(file: Path) -> None:
    with lzma.open(file, "rt") as text:
        expected = text.read().splitlines()
    assert list(vendor_lines(open_program(file.parent))) == expected


def test_nets_and_stages_are_chosen_by_name_and_number() -> None:
    assert open_program(SEVERAL).inputs[0].shape == (1, 10, 13, 14)
    second = open_program(SEVERAL, "pool2d", 1)
    assert second.inputs[0].shape == (1, 18, 12, 14)
    debugger = tdb_dap.open(SEVERAL, net="act_relu")
    assert debugger.program.net.name == "act_relu"
    assert debugger.run().reason == "end"
    assert set(debugger.outputs()) == {"relu1_Relu", "leakyrelu2_LeakyRelu", "prelu4_PRelu"}


def test_a_wrong_net_or_stage_is_answered_with_what_there_is() -> None:
    with pytest.raises(BadInput, match="no net 'relu'; the file holds pool2d, act_relu"):
        open_program(SEVERAL, "relu")
    with pytest.raises(BadInput, match=r"pool2d has no stage 2; it has 0 \(x f32\[1,10,13,14\]\), 1 \(x f32"):
        open_program(SEVERAL, stage=2)
