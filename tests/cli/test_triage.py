"""``tdb-dap triage`` after compilations that went well, went wrong, or broke off."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.golden.library import GOLDENS
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.report_schema import read
from tdb_dap.tools.triage.calibration import is_of_model
from tdb_dap.tools.triage.outputs import differing_output, outputs_of
from tdb_dap.tools.triage.schema import Triage
from tdb_dap.tools.triage.stages import Stage
from tdb_dap.tools.triage.text import lines
from tests.command_line import tdb_dap
from tests.samples import case
from tests.triage_case import Compiled
from tests.zoo.zoos import model, spoil_reference


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    return Compiled.into(tmp_path / "toy")


def triage(at: Path) -> Triage:
    """The verdict as JSON; the exit code is that of the verdict."""
    done = tdb_dap("triage", at, "--json")
    found = read(Triage, done.stdout)
    assert done.returncode == int(found.is_wrong), done.stderr
    return found


def negated(array: Array) -> Array:
    return -array


def test_a_correct_int8_model_differs_by_quantisation_and_nothing_else(toy: Compiled) -> None:
    found = triage(toy.context)
    assert found.verdict == "quantisation"
    assert not found.is_wrong
    assert [(stage.stage, stage.bugs, stage.missing) for stage in found.stages] == [
        ("as imported", 0, ""),
        ("top", 0, ""),
        ("tpu", 0, ""),
        ("bmodel", 0, ""),
    ]
    assert found.cosine is not None
    assert found.cosine == pytest.approx(0.9999, abs=1e-4)
    assert found.costs[0].share < 0.02, "eight bits cost a percent"


def test_it_finds_the_compilation_from_the_directory_around_it(toy: Compiled) -> None:
    assert triage(toy.folder) == triage(toy.context)


_PADS = "pads = [{}, 1, {}, 1], quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, "
_SHIFTS = "round_mode = #tpu<round_mode HalfUp>, rshift = [28,"

FAULTS = {
    "a multiplier of a convolution": ("multiplier = [1704047,", "multiplier = [2704047,", "relu4_Relu"),
    "a shift": ("rshifts = [29]", "rshifts = [28]", "gemm15_Gemm"),
    "the padding": (_PADS.format(1, 1) + _SHIFTS, _PADS.format(2, 0) + _SHIFTS, "relu4_Relu"),
    "maximum for average": ("<pool_mode Avg>", "<pool_mode Max>", "globalaveragepool11_GlobalAveragePool"),
}
"""Faults of the lowering: text of the tpu stage, what a faulty compiler writes instead, the tensor it spoils."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_lowering_is_a_bug_of_stage_tpu(fault: str, toy: Compiled) -> None:
    old, new, tensor = FAULTS[fault]
    toy.edit(toy.tpu, old, new)
    toy.interpret()
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "tpu", tensor)
    assert {"top", "tpu", "final"} <= {place.stage for place in found.places}, "its counterpart in other levels"
    assert "stage tpu does not mean what the stage before it says" in found.sentence
    line = next(place.line for place in found.places if place.stage == "final")
    assert found.command == f"tdb-dap explain {toy.context} {line}"


@pytest.mark.parametrize(
    ("weight", "tensor"),
    [
        ("conv8_Conv_filter_i8", "conv8_Conv"),
        ("gemm15_Gemm_bias_int32", "gemm15_Gemm"),
        ("mul10_Mul_table", "mul10_Mul"),
    ],
)
def test_wrong_weights_of_stage_tpu_are_its_bug(weight: str, tensor: str, toy: Compiled) -> None:
    toy.change(toy.tpu_weights, weight, negated)
    toy.interpret()
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "tpu", tensor)


def test_a_wrong_weight_in_the_bmodel_is_a_bug_of_the_bmodel(toy: Compiled) -> None:
    toy.spoil_bmodel()
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "bmodel", "conv8_Conv")
    assert found.command.startswith(f"tdb-dap check {toy.context} --inputs ")
    done = tdb_dap(*found.command.split()[1:])
    assert done.returncode == 1
    assert "conv8_Conv (tpu.Conv2D at line" in done.stdout.splitlines()[0], "the command shows it"


def test_an_importer_s_fault_is_a_bug_of_the_first_stage(toy: Compiled) -> None:
    """The model's own numbers do not follow from the ops that were imported."""
    toy.edit(toy.folder / "toy_origin.mlir", "kernel_shape = [2, 2]", "kernel_shape = [3, 3]")
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "as imported", "maxpool5_MaxPool")
    assert [place.stage for place in found.places] == ["as imported", "model", "top", "tpu", "final"]


def test_a_simplifier_s_fault_is_a_bug_of_stage_top(toy: Compiled) -> None:
    toy.change(toy.folder / "toy_top_outputs.npz", "maxpool5_MaxPool", lambda array: array * 0.9)
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "top", "maxpool5_MaxPool")


def test_another_input_is_told_from_a_fault(toy: Compiled) -> None:
    toy.spoil_input()
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("input", "tpu", "")
    assert "given another x than stage top: preprocessing" in found.sentence


def test_a_threshold_of_the_calibration_that_is_too_small_is_told_from_a_fault(toy: Compiled) -> None:
    toy.spoil_calibration()
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("calibration", "tpu", "conv8_Conv")
    assert "threshold in the calibration table is too small" in found.sentence
    assert found.is_wrong


def test_numbers_that_errors_have_moved_beyond_a_threshold_are_no_fault_of_the_table(toy: Compiled) -> None:
    """A threshold that holds all numbers of the model: a larger one would not help."""
    toy.spoil_calibration()
    level = Level("tpu", toy.tpu)
    kind = level.type_named("conv8_Conv")
    assert kind is not None
    assert kind.bounds is not None
    numbers = np.linspace(*kind.bounds, 100)
    cut = Judged("conv8_Conv", level.by_name["conv8_Conv"], "quantisation", saturated=0.4)
    stage = Stage("tpu", level=level)
    assert not is_of_model(cut, stage, Stage("top", tensors={"conv8_Conv": numbers}))
    assert is_of_model(cut, stage, Stage("top", tensors={"conv8_Conv": 2 * numbers}))
    assert not is_of_model(cut, stage, Stage("top", tensors={"conv8_Conv": 1.1 * numbers})), "a tenth of it, not 40%"
    assert is_of_model(cut, stage, Stage("top")), "the model's numbers are not known"
    assert is_of_model(cut, stage, None)


@pytest.mark.parametrize(("factor", "differs"), [(1.0, False), (-1.0, True)])
def test_a_dynamic_bmodel_with_another_output_is_not_passed_over(factor: float, differs: bool, toy: Compiled) -> None:
    """Its ops cannot be judged, but the run has its outputs."""
    level = Level("tpu", toy.tpu)
    tensors = read_npz(toy.tpu_outputs)
    output = next(name for name in outputs_of(level) if name in tensors)
    tpu = Stage("tpu", level=level, tensors=tensors)
    bmodel = Stage("bmodel", tensors={output: factor * tensors[output]}, is_dynamic=True)
    assert bool(differing_output([tpu, bmodel])) == differs
    bmodel.is_dynamic = False
    assert not differing_output([tpu, bmodel]), "its ops are judged"


def test_a_compilation_that_broke_off_is_judged_as_far_as_it_went(toy: Compiled) -> None:
    toy.break_off()
    found = triage(toy.context)
    assert found.verdict == "incomplete"
    assert [stage.judged > 0 for stage in found.stages] == [True, True, True, False]
    assert "no bmodel was written; up to stage tpu no op is wrong" in found.sentence
    assert found.command == "bmodel: there is none: run model_deploy to its end"


@pytest.mark.parametrize(
    ("missing", "stage", "advice"),
    [
        ("toy_ref_outputs.npz", "as imported", "run model_transform with --test_input, --test_result and --debug"),
        ("toy_top_outputs.npz", "top", "run model_transform with --test_input and --test_result"),
        ("toy_bm1684x_int8_sym_tpu_outputs.npz", "tpu", "run model_deploy with --test_input"),
        ("toy_bm1684x_int8_sym_tpu.mlir", "tpu", "run model_deploy with --test_input"),
        ("toy.mlir", "top", "run model_transform with --test_input"),
    ],
)
def test_what_is_missing_is_named_and_the_rest_is_judged(missing: str, stage: str, advice: str, toy: Compiled) -> None:
    (toy.folder / missing).unlink()
    found = triage(toy.context)
    row = next(row for row in found.stages if row.stage == stage)
    assert advice in row.missing
    assert row.known == 0
    assert row.judged == (12 if missing.endswith("tpu_outputs.npz") else 0)  # by the tensors of the bmodel's run
    assert not found.is_wrong
    assert sum(other.judged > 0 for other in found.stages) >= 2


def keep_tensors(path: Path, *kept: str) -> None:
    """What model_deploy writes without ``--compare_all``: the outputs."""
    arrays = read_npz(path)
    write_npz(path, {name: arrays[name] for name in kept})


def test_tensors_that_the_file_lacks_are_the_bmodel_s_and_it_says_how_many(toy: Compiled) -> None:
    keep_tensors(toy.tpu_outputs, "x", "softmax16_Softmax__softmax_reshape_f32")
    done = tdb_dap("triage", toy.context, "--quiet")
    assert done.returncode == 0, done.stderr
    text = "12 of 12  0      1 of 12 tensors in its file, 11 taken from the bmodel's run: compile with --compare_all"
    assert text in done.stdout
    assert "quantisation: no op is wrong;" in done.stdout


def test_a_wrong_lowering_is_found_in_the_tensors_of_the_bmodel(toy: Compiled) -> None:
    """The imported model is another one than what was lowered, and the file of that has the outputs only."""
    keep_tensors(toy.tpu_outputs, "x", "softmax16_Softmax__softmax_reshape_f32")
    (toy.folder / "toy_origin.mlir").unlink()
    toy.change(toy.folder / "toy_top_f32_all_weight.npz", "w6", lambda array: -array)
    level = Level("top", toy.folder / "toy.mlir")
    tensors, _ = level.run(read_npz(toy.folder / "toy_in_f32.npz"), is_rounded=True)
    write_npz(toy.folder / "toy_top_outputs.npz", {k: np.asarray(v, np.float32) for k, v in tensors.items()})
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "tpu", "conv8_Conv")


def test_what_is_too_little_to_say_anything_of_is_incomplete(toy: Compiled) -> None:
    """The outputs only, no names in the bmodel, and the outputs are not the model's."""
    keep_tensors(toy.tpu_outputs, "x", "softmax16_Softmax__softmax_reshape_f32")
    toy.change(toy.tpu_outputs, "softmax16_Softmax__softmax_reshape_f32", lambda array: array[:, ::-1].copy())
    for name in ("final.mlir", "tensor_location.json.xz"):
        (toy.context / name).unlink()
    found = triage(toy.context)
    assert found.verdict == "incomplete"
    assert "too little of stage tpu is known to say that nothing is wrong" in found.sentence


def break_off_import(toy: Compiled) -> None:
    """What a failed model_transform leaves: no list of files, and nothing of model_deploy."""
    shutil.rmtree(toy.context)
    for path in toy.folder.glob("toy_bm1684x*"):
        path.unlink()
    (toy.folder / "toy_top_outputs.npz").rename(toy.folder / "result.npz")


def test_a_failed_import_is_judged_by_the_names_of_its_files(toy: Compiled) -> None:
    break_off_import(toy)
    found = triage(toy.folder)
    assert [row.judged for row in found.stages] == [10, 8, 0, 0]
    assert found.verdict == "nothing wrong"
    assert found.command.startswith("tpu: its .mlir is not there: run model_deploy")
    toy.change(toy.folder / "toy_ref_outputs.npz", "maxpool5_MaxPool", lambda array: array * 0.9)
    found = triage(toy.folder)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "as imported", "maxpool5_MaxPool")
    assert found.command == f"read {toy.folder / 'toy_origin.mlir'}:10"


def test_an_import_that_wrote_nothing_and_two_in_a_directory_are_named(toy: Compiled) -> None:
    break_off_import(toy)
    shutil.copyfile(toy.folder / "toy_origin.mlir", toy.folder / "other_origin.mlir")
    done = tdb_dap("triage", toy.folder)
    assert (done.returncode, "2 imported models are here (other_origin.mlir, toy_origin.mlir)" in done.stderr) == (
        2,
        True,
    )
    for path in toy.folder.iterdir():
        path.unlink()
    (toy.folder / "final_opt.onnx").write_bytes(b"")
    done = tdb_dap("triage", toy.folder)
    assert (done.returncode, "model_transform stopped before it wrote the imported model" in done.stderr) == (2, True)


def test_another_input_is_found_without_all_tensors(toy: Compiled) -> None:
    toy.spoil_input()
    keep_tensors(toy.tpu_outputs, "softmax16_Softmax__softmax_reshape_f32")
    assert triage(toy.context).verdict == "input"


def test_an_op_without_a_golden_is_held_against_the_next_stage(toy: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same operands, and other numbers in the imported model than in the original one."""
    monkeypatch.delitem(GOLDENS, "top.MaxPool")
    assert triage(toy.context).verdict == "quantisation"
    toy.change(toy.folder / "toy_ref_outputs.npz", "maxpool5_MaxPool", lambda array: array * 0.8)
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "as imported", "maxpool5_MaxPool")
    assert "from the same operands stage top has other numbers" in found.sentence


def test_a_text_without_ops_is_damaged(toy: Compiled) -> None:
    toy.break_off()
    text = toy.tpu.read_text("utf-8")
    toy.tpu.write_text(text[: text.index("tpu.Cast")], "utf-8")
    found = triage(toy.context)
    assert found.verdict == "incomplete"
    assert "up to stage top no op is wrong" in found.sentence
    assert found.command.startswith("tpu: no op is in toy_bm1684x_int8_sym_tpu.mlir: it is damaged")


def test_damaged_files_are_one_line_and_the_rest_is_judged(toy: Compiled) -> None:
    (toy.folder / "toy_top_outputs.npz").write_bytes(b"PK broken")
    toy.tpu.write_bytes(b'\xff\x00 {{{ \n %1 = "tpu.Conv2D"(\n')
    found = triage(toy.context)
    assert "cannot be read as an npz file" in next(row.missing for row in found.stages if row.stage == "top")
    assert next(row.judged for row in found.stages if row.stage == "as imported") > 0


def test_a_missing_dependency_is_a_fault_whatever_the_numbers_are(toy: Compiled) -> None:
    model = toy.context / "compilation.bmodel.xz"
    with Editor(open_program(toy.context), toy.context / "compilation.bmodel") as editor:
        editor.set_field("B59", "cmd_id_dep", 0)
    model.unlink()
    found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("fault", "bmodel", "mul10_Mul")
    assert "B59" in found.sanitizers[0]
    alike = replace(found, sanitizers=("B1 ends in lane 7", "B23 ends in lane 8", "B4 begins"))
    assert "  B1 ends in lane 7; 1 more like it\n  B4 begins" in "\n".join(lines(alike))
    assert found.command.startswith(f"tdb-dap sanitize {toy.context}")


def test_a_command_that_is_not_known_leaves_the_bmodel_unjudged(toy: Compiled) -> None:
    with Editor(open_program(toy.context), toy.context / "compilation.bmodel") as editor:
        editor.set_field("B63", "tsk_eu_typ", 31)
    (toy.context / "compilation.bmodel.xz").unlink()
    found = triage(toy.context)
    assert found.verdict == "incomplete"
    assert "up to stage tpu no op is wrong; the bmodel" in found.sentence


def test_check_golden_needs_no_reference_file(toy: Compiled) -> None:
    toy.tpu_outputs.unlink()
    inputs = toy.folder / "toy_in_f32.npz"
    done = tdb_dap("check", toy.context, "--inputs", inputs, "--golden")
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "pass: 20 tensors compared"), done.stderr
    assert tdb_dap("check", toy.context, "--inputs", inputs, "--reference", toy.tpu).stdout == done.stdout
    raw = toy.folder / "input.dat"
    program = open_program(toy.context)
    words = program.inputs[0].lower(read_npz(inputs)["x"], "x")
    raw.write_bytes(words.tobytes())
    assert tdb_dap("check", toy.context, "--inputs", raw, "--golden").stdout == done.stdout
    toy.spoil_bmodel()
    done = tdb_dap("check", toy.context, "--inputs", inputs, "--golden", "--blame")
    assert done.returncode == 1
    assert done.stdout.startswith("fail: first at fault is conv8_Conv")


def test_what_check_golden_needs_is_named(toy: Compiled) -> None:
    inputs = toy.folder / "toy_in_f32.npz"
    check = ("check", toy.context, "--inputs", inputs, "--golden")
    done = tdb_dap(*check, "--reference", toy.tpu_outputs)
    assert (done.returncode, "--golden and --reference: give one of them" in done.stderr) == (2, True)
    toy.edit(toy.tpu, '"tpu.Pool2D"(%11)', '"tpu.Unheard"(%11)')
    done = tdb_dap(*check)
    assert "no golden for tpu.Unheard (no golden function); 6 ops after it" in done.stderr.replace("them", "it")
    assert done.returncode == 0
    toy.tpu_weights.unlink()
    toy.tpu.write_text(toy.tpu.read_text().replace('"tpu.Cast"(%1)', '"tpu.Unheard"(%1)'))
    done = tdb_dap(*check)
    assert (done.returncode, "no op of it can be computed" in done.stderr) == (2, True)
    toy.tpu.unlink()
    done = tdb_dap(*check)
    assert (done.returncode, "the ..._tpu.mlir of its compilation is missing" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"top.Weight"() : () -> tensor<32x10xi8>', '"top.Weight"() : () -> '),
        ('"top.Weight"() : () -> tensor<32x10xi8>', '"top.Weight"() " () -> tensor<32x10xi8>'),
        ("pads = [0, 0, 0, 0], pool_mode = #tpu<pool_mode Avg>", "pads = [], pool_mode = #tpu<pool_mode Avg>"),
        ("tensor<1x1x1x256xsi8>) ->", "tensor<1x1x1x99999999999999999999xsi8>) ->"),
        ("rshifts = [29]", "rshifts = [nan]"),
    ],
)
def test_a_text_that_makes_no_sense_is_no_internal_error(old: str, new: str, toy: Compiled) -> None:
    toy.edit(toy.tpu, old, new)
    assert triage(toy.context).verdict in ("quantisation", "nothing wrong", "bug")


def test_numbers_that_are_infinite_are_judged_without_a_warning(toy: Compiled) -> None:
    toy.change(toy.tpu_outputs, "conv8_Conv", lambda array: np.where(array > 3, np.inf, array))
    toy.change(toy.folder / "toy_top_outputs.npz", "mul10_Mul", lambda array: np.where(array > 3, np.nan, array))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = triage(toy.context)
    assert (found.verdict, found.stage, found.tensor) == ("bug", "top", "mul10_Mul")


def test_the_screen_shows_stages_op_verdict_and_command(toy: Compiled) -> None:
    toy.spoil_scale()
    done = tdb_dap("triage", toy.folder)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert len(lines) < 25, "one screen"
    assert [line.split("  ")[0] for line in lines[:5]] == ["stage", "as imported", "top", "tpu", "bmodel"]
    assert lines[-2].startswith("bug: gemm15_Gemm (tpu.MatMul at toy_bm1684x_int8_sym_tpu.mlir:")
    assert lines[-1].startswith("next: tdb-dap explain ")
    assert tdb_dap(*lines[-1].split()[2:]).returncode == 0


def test_a_place_without_a_compilation_is_an_error(tmp_path: Path, toy: Compiled) -> None:
    for at, text in (
        (tmp_path / "nowhere", "no such directory"),
        (Path(__file__).parent, "no ref_files.json in it or in its folders"),
    ):
        done = tdb_dap("triage", at)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
    shutil.copytree(toy.context, toy.folder / "other")
    done = tdb_dap("triage", toy.folder)
    assert done.returncode == 2
    assert "2 compilations are here (other, toy_bm1684x_int8)" in done.stderr
    (toy.context / "ref_files.json").write_text("[]")
    done = tdb_dap("triage", toy.context)
    assert "not the compiler's list of files" in done.stderr


def test_without_any_tensors_nothing_can_be_said(toy: Compiled) -> None:
    toy.break_off()
    for path in toy.folder.glob("*_outputs.npz"):
        path.unlink()
    done = tdb_dap("triage", toy.context)
    assert done.returncode == 2
    assert "no stage could be judged; compile with" in done.stderr


@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_context_alone_is_held_against_its_reference(is_wrong: bool, tmp_path: Path) -> None:
    """Nothing is known of the stages before; what is missing is named."""
    context = model("toy", tmp_path)
    name = spoil_reference(context) if is_wrong else ""
    done = tdb_dap("triage", context, "--quiet")
    assert done.returncode == int(is_wrong), done.stderr
    assert "run model_deploy with --test_input, --test_reference and --debug" in done.stdout
    if is_wrong:
        assert f"bug: {name} (tpu.Pool2D at final.mlir:21): the bmodel does not compute" in done.stdout
        command = done.stdout.splitlines()[-1].removeprefix("next: tdb-dap ").split()
        assert tdb_dap(*command, "--quiet").returncode == 1
    else:
        assert "nothing wrong: every op that was judged" in done.stdout


def test_a_context_alone_without_reference_is_only_sanitized(tmp_path: Path) -> None:
    context = model("pool", tmp_path)
    (context / "ref.npz").unlink(missing_ok=True)
    done = tdb_dap("triage", context, "--quiet")
    assert done.returncode == 2
    assert "it has no reference: give ref.npz next to it" in done.stdout


def test_what_the_compiler_makes_narrower_than_the_table_is_no_fault_of_the_table(toy: Compiled) -> None:
    """It gives operands of an addition the scale of the sum; that is a price, and is reported."""
    toy.spoil_calibration()
    table = toy.folder / "table.txt"
    table.write_text("# op_name threshold min max\nconv8_Conv 3.6937 -3.6937 3.5\n")
    notes = toy.context / "ref_files.json"
    content = json.loads(notes.read_text())
    content["files"]["calibration"] = {"path": "../table.txt"}
    notes.write_text(json.dumps(content))
    found = triage(toy.context)
    assert found.verdict == "incomplete", "it broke off; no op of it is wrong"
    assert "gave conv8_Conv a scale that reaches to 0.3694, where the calibration table says 3.694" in found.sentence
    table.write_text("conv8_Conv 0.36937 -0.3 0.3\n")
    assert triage(toy.context).verdict == "calibration"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("log_softmax_bm1684_f32", "NaNs in lanes that nobody reads"),
        pytest.param("toy_bm1684x_f32dyn", "the outputs of a dynamic model", marks=pytest.mark.vendor),
    ],
)
def test_a_correct_context_is_not_called_wrong(name: str, why: str, tmp_path: Path) -> None:
    context = tmp_path / "model"
    shutil.copytree(case(name).path, context)
    (context / "runtime.npz").rename(context / "ref.npz")
    found = triage(context)
    assert found.verdict == "nothing wrong", why
    assert found.stages[-1].judged


def test_a_step_of_another_rounding_is_no_bug_and_a_step_everywhere_is(tmp_path: Path) -> None:
    context = tmp_path / "model"
    shutil.copytree(case("toy_bm1684x_int8").path, context)
    reference = read_npz(context / "ref.npz")
    name = "relu4_Relu"
    step = float(np.diff(np.unique(reference[name])).min())
    some = np.where(np.arange(reference[name].size) % 3, 0, step).reshape(reference[name].shape)
    for shift, is_wrong in ((some, False), (np.full_like(some, step), True)):
        write_npz(context / "ref.npz", {**reference, name: (reference[name] + shift).astype(np.float32)})
        assert triage(context).is_wrong == is_wrong
