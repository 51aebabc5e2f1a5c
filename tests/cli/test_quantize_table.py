"""``tdb-dap triage --quantize-table``: what precision costs at the output, and which ops to keep in F16."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.triage.effects import Shadow
from tdb_dap.tools.triage.sensitivity import mixed
from tdb_dap.tools.triage.triaging import triage
from tests.command_line import tdb_dap
from tests.triage_case import Compiled


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    return Compiled.into(tmp_path / "toy")


def shadow(toy: Compiled) -> Shadow:
    top, tpu = Level("top", toy.folder / "toy.mlir"), Level("tpu", toy.tpu)
    return Shadow(top, tpu, read_npz(toy.tpu_outputs), read_npz(toy.folder / "toy_in_f32.npz"))


def test_all_errors_together_give_the_output_that_was_computed(toy: Compiled) -> None:
    """The shadow of the lowered model is the lowered model: what it promises rests on that."""
    assert shadow(toy).cosine([]) == pytest.approx(triage(toy.context).cosine, abs=1e-6)


def test_without_any_error_the_output_is_that_of_f16(toy: Compiled) -> None:
    found = shadow(toy)
    assert 0.999999 < found.cosine(list(found.errors)) <= 1


def test_one_op_s_errors_are_its_own(toy: Compiled) -> None:
    """An error put into one op is found there, with its size, and nowhere else."""
    before = {name: float(np.abs(error).max()) for name, error in shadow(toy).errors.items()}
    toy.change(
        toy.tpu_outputs, "conv8_Conv", lambda array: array + 0.5 * (np.arange(array.size) % 2).reshape(array.shape)
    )
    after = {name: float(np.abs(error).max()) for name, error in shadow(toy).errors.items()}
    changed = {name for name in after if after[name] > before[name] + 0.1}
    assert {"conv8_Conv"} <= changed <= {"conv8_Conv", "mul10_Mul"}, "and its reader, which did not see the change"


def test_more_ops_in_f16_come_nearer(toy: Compiled) -> None:
    found = shadow(toy)
    names = [one.name for one in found.ranked()]
    reached = [found.cosine(names[:count]) for count in range(len(names) + 1)]
    assert reached[-1] > 0.999999
    assert reached[1] > reached[0]


def test_the_table_names_the_fewest_dear_ops(toy: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    done = tdb_dap("triage", toy.context, "--quantize-table", path, "--cosine", "0.99998")
    assert done.returncode == 0, done.stderr
    assert path.read_text() == (
        "# bm1684x: ops that are kept in F16\n# op_name   quantize_mode\nsoftmax16_Softmax F16\ngemm15_Gemm F16\n"
    )
    last = done.stdout.splitlines()[-1]
    promised = re.fullmatch(r".*: with 2 ops in F16 the output reaches cosine ([.\d]+); it has 0.999905 now", last)
    assert promised is not None
    assert float(promised[1]) >= 0.99998
    assert mixed(toy.context, 0.9).kept == (), "nothing needs to be kept"


def test_what_cannot_be_reached_gives_exit_code_1_and_the_best_table(toy: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    done = tdb_dap("triage", toy.context, "--quantize-table", path, "--cosine", "1")
    assert done.returncode == 1
    assert len(path.read_text().splitlines()) > 5


def test_what_is_missing_is_an_error_and_writes_nothing(toy: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    for cosine in ("0", "1.5", "nan"):
        done = tdb_dap("triage", toy.context, "--quantize-table", path, "--cosine", cosine)
        assert (done.returncode, "--cosine" in done.stderr) == (2, True)
    done = tdb_dap("triage", toy.context, "--quantize-table", tmp_path / "none" / "table.txt")
    assert done.returncode == 2
    toy.break_off()
    toy.tpu_outputs.unlink()
    done = tdb_dap("triage", toy.context, "--quantize-table", path)
    assert (done.returncode, "the tensors of the stages top and tpu are needed" in done.stderr) == (2, True)
    assert not path.exists()


def test_too_few_tensors_are_refused_or_taken_from_the_bmodel(toy: Compiled, tmp_path: Path) -> None:
    """Without ``--compare_all`` the file of stage tpu has the outputs only."""
    arrays = read_npz(toy.tpu_outputs)
    write_npz(toy.tpu_outputs, {name: arrays[name] for name in ("x", "softmax16_Softmax__softmax_reshape_f32")})
    path = tmp_path / "table.txt"
    done = tdb_dap("triage", toy.context, "--quantize-table", path, "--cosine", "0.99998")
    assert done.returncode == 0, done.stderr
    assert path.read_text().splitlines()[2:] == ["softmax16_Softmax F16", "gemm15_Gemm F16"]
    toy.break_off()
    done = tdb_dap("triage", toy.context, "--quantize-table", path, "--cosine", "0.99998")
    assert done.returncode == 2
    assert "1 of 12 tensors of stage tpu are known, too few to say what an op costs; compile with" in done.stderr
