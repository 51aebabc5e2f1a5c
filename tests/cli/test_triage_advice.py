"""``tdb-dap triage`` where little is known: folders of language models, inputs of zeros, tensors without a name."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.triage import model
from tdb_dap.tools.triage.stages import NOT_JUDGED
from tests.command_line import tdb_dap
from tests.llm.models import QWEN, copied
from tests.samples import case
from tests.triage_case import Compiled


def test_the_folders_of_a_language_model_have_their_own_advice(tmp_path: Path) -> None:
    folder = copied(QWEN, tmp_path)
    packed = next(folder.glob("*.bmodel.xz"))
    (folder / "small.bmodel").write_bytes(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    for place in (folder, folder / "nets", folder / "nets" / "block_0"):
        done = tdb_dap("triage", place)
        assert done.returncode == 2
        assert (
            f"its nets are judged together, by tdb-dap llm {folder.resolve()} --ids 1,2,3 --reference" in done.stderr
        ), place
        assert "model_transform" not in done.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "llm_convert" not in tdb_dap("triage", empty).stderr


def test_a_compilation_that_broke_off_with_another_output_is_no_sound_one(tmp_path: Path) -> None:
    """As a softmax of CV181X that is negative: the outputs only are known, and they are not the model's."""
    toy = Compiled.into(tmp_path / "toy")
    toy.break_off()
    output = "softmax16_Softmax__softmax_reshape_f32"
    arrays = read_npz(toy.tpu_outputs)
    for step, said, advice in (
        (1, "no bmodel was written; up to stage top no op is wrong", "bmodel: there is none"),
        (-1, "no bmodel was written, and too little of stage tpu is known", "model_deploy: compile with --compare_all"),
    ):
        write_npz(toy.tpu_outputs, {"x": arrays["x"], output: arrays[output][:, ::step]})
        done = tdb_dap("triage", toy.context)
        assert said in done.stdout.splitlines()[-2], done.stdout
        assert done.stdout.splitlines()[-1].startswith(f"next: {advice}")


def test_a_run_on_zeros_is_no_judgement(tmp_path: Path) -> None:
    """A bias gives tensors that are not zeros: with a test input they are a verdict, without one they are none."""
    toy = Compiled.into(tmp_path / "toy")
    stages = [toy.tpu, *toy.folder.glob("*_in_f32.npz"), *toy.folder.glob("*_outputs.npz")]
    assert tdb_dap("triage", toy.context).returncode == 0
    for path in stages:
        path.unlink(missing_ok=True)
    shutil.rmtree(tmp_path / "nothing", ignore_errors=True)
    done = tdb_dap("triage", toy.context)
    assert done.returncode == 2
    assert "its inputs were zeros, as there is no test input" in done.stdout
    assert "nothing wrong" not in done.stdout


@pytest.mark.parametrize(("factor", "code"), [(3.0, 1), (1.1, 0)])
def test_a_tensor_is_judged_across_results_that_no_file_has(factor: float, code: int, tmp_path: Path) -> None:
    """As the results of an LSTM whose names the importer loses, and one of which the interpreter takes for another."""
    toy = Compiled.into(tmp_path / "toy")
    path = toy.folder / "toy_top_outputs.npz"
    arrays = read_npz(path)
    arrays["mul10_Mul"] = arrays["mul10_Mul"] * factor
    del arrays["conv8_Conv"]
    write_npz(path, arrays)
    done = tdb_dap("triage", toy.context)
    through = "far from what the nearest known tensors give through top.Conv at line 11"
    assert (through in done.stdout) == bool(code), done.stdout
    assert done.stdout.splitlines()[-2].startswith("bug: mul10_Mul (top.SiLU at toy.mlir:12)") == bool(code)


def test_a_dynamic_bmodel_without_ops_is_judged_by_its_outputs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorded run of one that lies alone has no op to judge; what it leaves at the outputs is known."""
    context = case("toy_bm1684x_f32")
    bmodel = Path(shutil.copy(context.path / "compilation.bmodel.xz", tmp_path))
    answers = iter([True, False])
    monkeypatch.setattr(model, "is_dynamic", lambda program: next(answers))
    stage, _ = model.run(bmodel, None, read_npz(context.inputs), lambda done: None)
    assert (stage.is_dynamic, stage.executed) == (True, [])
    assert NOT_JUDGED in stage.missing
    (output,) = (tensor.name for tensor in open_program(bmodel).outputs)
    assert list(stage.tensors) == [output]
    assert stage.tensors[output].any()


def test_integers_of_the_other_sign_are_part_of_the_verdict(tmp_path: Path) -> None:
    toy = Compiled.into(tmp_path / "toy")
    with Editor(open_program(toy.context), toy.context / "compilation.bmodel") as editor:
        editor.set_field("B58", "opd2_sign", 0)
    (toy.context / "compilation.bmodel.xz").unlink()
    done = tdb_dap("triage", toy.context).stdout
    assert "\nbug: conv8_Conv (tpu.Conv2D at " in done
    assert "; B58 computes ui8, which is read as si8\n" in done
