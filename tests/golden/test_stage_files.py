"""Files of a compilation by what they contain: releases that leave no list of files, or an incomplete one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.compilation import find
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.triage.stages import Stage
from tdb_dap.tools.triage.triaging import triage
from tests.command_line import tdb_dap
from tests.triage_case import Compiled

STAGES = ("origin_mlir", "top_mlir", "tpu_mlir", "final_mlir", "top_output", "reference", "tpu_output", "mlir_input")


@pytest.fixture
def unlisted(tmp_path: Path) -> Compiled:
    """What releases before 1.12 leave: no list of files. The names of array files say nothing."""
    toy = Compiled.into(tmp_path / "toy")
    (toy.context / "ref_files.json").unlink()
    (toy.folder / "toy_ref_outputs.npz").rename(toy.folder / "b.npz")
    (toy.folder / "toy_top_outputs.npz").rename(toy.folder / "c.npz")
    toy.tpu_outputs.rename(toy.folder / "a.npz")
    # The compiler writes the lowered text once more after its optimisation.
    shutil.copyfile(toy.tpu, toy.folder / toy.tpu.name.replace("_tpu.mlir", "_tpu_opt.mlir"))
    return toy


def names(toy: Compiled, given: Path) -> dict[str, str]:
    files = find(given)
    return {key: path.name for key in STAGES if (path := files.get(key)) is not None}


def test_every_stage_is_identified_without_a_list(unlisted: Compiled) -> None:
    wanted = {
        "origin_mlir": "toy_origin.mlir",
        "top_mlir": "toy.mlir",
        "tpu_mlir": unlisted.tpu.name,
        "final_mlir": "final.mlir",
        "top_output": "b.npz",
        "reference": "c.npz",
        "tpu_output": "a.npz",
        "mlir_input": "toy_in_f32.npz",
    }
    for given in (unlisted.folder, unlisted.context, unlisted.context / "final.mlir"):
        assert names(unlisted, given) == wanted
    triaged = triage(unlisted.folder)
    assert triaged.verdict == "quantisation"
    assert all(stage.judged for stage in triaged.stages)


def test_a_fault_is_found_without_a_list(unlisted: Compiled) -> None:
    unlisted.spoil_bmodel()
    triaged = triage(unlisted.folder)
    assert (triaged.verdict, triaged.stage, triaged.tensor) == ("bug", "bmodel", "conv8_Conv")


def test_tensors_of_another_stage_are_not_taken(unlisted: Compiled) -> None:
    """The only array file of many tensors is the lowered model's: it is no reference of the imported ones."""
    for name in ("b.npz", "c.npz"):
        (unlisted.folder / name).unlink()
    taken = names(unlisted, unlisted.folder)
    assert taken["tpu_output"] == "a.npz"
    assert not taken.keys() & {"top_output", "reference"}


def test_arrays_of_other_sizes_are_not_taken(unlisted: Compiled) -> None:
    arrays = read_npz(unlisted.folder / "c.npz")
    write_npz(unlisted.folder / "c.npz", {name: np.concatenate([array, array]) for name, array in arrays.items()})
    assert "reference" not in names(unlisted, unlisted.folder)


def test_files_of_another_compilation_in_the_folder_are_not_taken(unlisted: Compiled) -> None:
    """The same model for another chip leaves tensors of the same names and sizes."""
    text = unlisted.tpu.read_text("utf-8").replace('module.chip = "bm1684x"', 'module.chip = "bm1688"')
    other = unlisted.folder / "toy_bm1688_int8_sym_tpu.mlir"
    other.write_text(text, "utf-8")
    (unlisted.folder / "a.npz").rename(unlisted.folder / "toy_bm1688_int8_sym_tpu_outputs.npz")
    taken = names(unlisted, unlisted.context)
    assert taken["tpu_mlir"] == unlisted.tpu.name
    assert "tpu_output" not in taken
    shutil.rmtree(unlisted.context)
    with pytest.raises(BadInput, match="2 compilations are here"):
        find(unlisted.folder)


def test_another_model_s_texts_are_not_taken(unlisted: Compiled) -> None:
    for name in ("toy.mlir", "toy_origin.mlir"):
        path = unlisted.folder / name
        path.write_text(path.read_text("utf-8").replace("module @toy", "module @other"), "utf-8")
    assert not names(unlisted, unlisted.folder).keys() & {"top_mlir", "origin_mlir"}


def test_what_a_list_leaves_out_is_identified(tmp_path: Path) -> None:
    """Releases 1.12 to 1.20 note nothing of the imported model."""
    toy = Compiled.into(tmp_path / "toy")
    notes = toy.context / "ref_files.json"
    content = json.loads(notes.read_text("utf-8"))
    for key in ("origin_mlir", "top_mlir", "top_output", "mlir_input", "origin_model"):
        content["files"].pop(key, None)
    content["commands"].pop("transform_cmd", None)
    notes.write_text(json.dumps(content), "utf-8")
    assert all(stage.judged for stage in triage(toy.context).stages)


def test_layers_may_have_the_sign_of_a_part_in_their_names(unlisted: Compiled) -> None:
    """As those of a branch that was taken at export: If_0_then_branch__Inline_0__/stft/Conv."""
    for path in unlisted.folder.rglob("*.mlir"):
        text = path.read_text("utf-8")
        path.write_text(text.replace('loc("', 'loc("If_0_then_branch__Inline_0__/'), "utf-8")
    texts = names(unlisted, unlisted.context)
    assert (texts["origin_mlir"], texts["top_mlir"]) == ("toy_origin.mlir", "toy.mlir")


def test_a_calibration_table_is_identified_by_its_layers(unlisted: Compiled) -> None:
    layers = read_npz(unlisted.folder / "c.npz")
    table = unlisted.folder / "thresholds"
    table.write_text("# op_name threshold min max\n" + "".join(f"{name} 1.0 -1 1\n" for name in layers), "utf-8")
    (unlisted.folder / "notes.txt").write_text("conv8_Conv is the layer in question\n", "utf-8")
    assert find(unlisted.folder).get("calibration") == table.resolve()
    table.with_name("second").write_text(table.read_text("utf-8"), "utf-8")
    assert find(unlisted.folder).get("calibration") is None, "two tables: which one was used is not known"


def test_a_context_without_stages_around_it_stands_alone(unlisted: Compiled, tmp_path: Path) -> None:
    lonely = tmp_path / "lonely" / "context"
    shutil.copytree(unlisted.context, lonely)
    assert find(lonely).is_alone
    done = tdb_dap("triage", lonely, "--quiet")
    assert "it has no reference" in done.stdout


def test_results_of_no_type_are_no_tensors_of_a_stage(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(
        "func.func @main(%arg0: tensor<1x6x5xf32>) -> tensor<1x1x5xf32> {\n"
        '  %0, %1 = "top.Arg"(%arg0) {axis = 1 : i64, mode = "ArgMax"} : (tensor<1x6x5xf32>) -> '
        "(tensor<1x1x5xf32>, none) loc(#loc1)\n"
        '  %2, %3 = "top.TopK"(%arg0) {K = 1 : i64} : (tensor<1x6x5xf32>) -> '
        "(tensor<1x6x1xf32>, tensor<1x6x1xf32>) loc(#loc2)\n"
        "  return %0 : tensor<1x1x5xf32>\n}\n"
        '#loc1 = loc("a")\n#loc2 = loc("b")\n'
    )
    assert len(Stage("top", level=Level("top", path)).computed) == 3
