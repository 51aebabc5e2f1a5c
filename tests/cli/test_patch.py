"""Changed copies of a bmodel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.cli.main import main
from tests.samples import case

TOY = case("toy_bm1684x_f32")


def patched(tmp_path: Path, *options: str) -> Path:
    output = tmp_path / "patched.bmodel"
    assert main(["patch", str(TOY.path), "-o", str(output), *options]) == 0
    return output


def test_a_field_of_a_command_has_another_value(tmp_path: Path) -> None:
    output = patched(tmp_path, "--set", "B1.opd0_up_pad=0", "--set", "B1.opd0_dn_pad=0x2")
    fields = tdb_dap.open(output).program.commands[3].fields
    assert (fields["opd0_up_pad"], fields["opd0_dn_pad"]) == (0, 2)
    before, after = tdb_dap.open(TOY.path).program, tdb_dap.open(output).program
    assert [c.ordinal for c in before.commands if c.descriptor != after.commands[c.ordinal].descriptor] == [3]


def test_a_weight_has_other_numbers_and_the_file_its_hash(tmp_path: Path) -> None:
    import hashlib

    numbers = tmp_path / "w1.npy"
    np.save(numbers, np.arange(16 * 27, dtype=np.float32).reshape(16, 3, 3, 3))
    output = patched(tmp_path, "--weight", f"w1={numbers}")
    program = tdb_dap.open(output).program
    stage = program.stage
    digest = hashlib.sha256(program.bmodel.bytes_of(stage.weights, "weights").tobytes()).digest()
    assert digest in output.read_bytes()[64 : program.bmodel.payload_start]
    debugger = tdb_dap.open(output, inputs=TOY.inputs)
    debugger.travel(3)
    convolution = program.commands[3]
    weight = dict(zip(convolution.operand_roles, convolution.operands, strict=True))["weight"]
    assert np.array_equal(np.ravel(debugger.read(weight)), np.arange(16 * 27))


def test_nothing_is_done_behind_an_op(tmp_path: Path) -> None:
    output = patched(tmp_path, "--until", "maxpool5_MaxPool")
    whole, cut = tdb_dap.open(TOY.path, inputs=TOY.inputs), tdb_dap.open(output, inputs=TOY.inputs)
    last = max(r.last for r in whole.program.source.records if r.results[0].name == "maxpool5_MaxPool")
    cut.run()
    whole.travel(last + 1)
    assert cut.at_end
    assert np.array_equal(cut.memory.local(), whole.memory.local())
    assert np.array_equal(cut.memory.neuron(), whole.memory.neuron())
    assert len(cut.program.commands) == len(whole.program.commands)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing to change; give --set, --weight or --until"),
        (["--set", "B1.nothing=1"], "B1 (conv.normal) has no field 'nothing'"),
        (["--set", "B1.opd0_up_pad=100"], "100 does not fit into the field opd0_up_pad"),
        (["--set", "B1"], "--set B1: write B12.opd0_h=7"),
        (["--weight", "w0=1"], "there is no weight 'w0'; the model has "),
        (["--weight", "w1=none.npy"], "none.npy: neither a number nor a file of numbers"),
        (["--until", "1"], "line 1 of final.mlir has no commands"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_no_file(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "patched.bmodel"
    assert main(["patch", str(TOY.path), "-o", str(output), *options]) == 2
    assert message in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("options", [["--set", "B2.res0_n=1"], ["--until", "B2"]])
def test_a_name_of_several_cores_is_asked_about(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "patched.bmodel"
    assert main(["patch", str(case("toy_bm1688_f16c2").path), "-o", str(output), *options]) == 2
    assert "B2 names 2 commands: c0.B2 (command 4), c1.B2 (command 90)" in capsys.readouterr().err


def test_a_command_of_one_core_is_patched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "patched.bmodel"
    assert main(["patch", str(case("toy_bm1688_f16c2").path), "-o", str(output), "--set", "c1.B3.res0_n=2"]) == 0
    assert "c1.B3 arith.cast: res0_n = 2 instead of 1" in capsys.readouterr().out


def test_a_chip_without_a_command_that_does_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "patched.bmodel"
    assert main(["patch", str(case("toy_bm1684_f32").path), "-o", str(output), "--until", "B3"]) == 2
    assert "no command of BM1684 is known to do nothing" in capsys.readouterr().err
