"""``tdb-dap check --golden``: each op on the operands that it had on the chip."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.compare.finding import Role
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.check.causes import shadows
from tdb_dap.tools.check.results import Looked
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.golden import judging, reference
from tdb_dap.tools.golden.calls import Golden
from tdb_dap.tools.golden.judging import Judged
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.golden.library import GOLDENS, INTEGER, Call, NoGolden
from tdb_dap.tools.triage.triaging import triage
from tests.command_line import tdb_dap
from tests.triage_case import MEAN, Compiled


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    return Compiled.into(tmp_path / "toy")


def _move_expected(monkeypatch: pytest.MonkeyPatch, factor: float = 1.2) -> None:
    """Expected tensors that are some steps off, as after ten layers; the input stays."""
    computed = reference.computed

    def moved(path: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
        arrays = computed(path, inputs)
        return {name: array if name == "x" else array * np.float32(factor) for name, array in arrays.items()}

    monkeypatch.setattr(reference, "computed", moved)


def test_roundings_that_add_up_are_no_fault_of_check_golden(toy: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each op is judged on the operands that it had."""
    _move_expected(monkeypatch)
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--golden")
    done = tdb_dap(*check)
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "pass: 20 tensors compared"), done.stdout
    assert ", 0 differ, 9 only by rounding, " in done.stdout
    assert "what differs was inherited, or is what the format costs" in tdb_dap(*check, "--all").stdout
    toy.spoil_bmodel()
    done = tdb_dap(*check)
    assert done.returncode == 1
    assert done.stdout.startswith("fail: first to differ is conv8_Conv (tpu.Conv2D at line 23)")


def test_an_output_that_has_nothing_left_of_the_model_does_not_pass(
    toy: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A classifier in bf16 subtracts a mean whose sum has lost 4%: each op is right, and the output is not."""
    _move_expected(monkeypatch, -1)
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--golden")
    done = tdb_dap(*check)
    assert done.returncode == 1
    first = "differs by accumulated rounding; no op at fault: first beyond its limits is softmax16_Softmax"
    assert done.stdout.startswith(first), done.stdout
    assert "no op is wrong by itself: roundings add up, and softmax16_Softmax" in done.stdout
    assert "has cosine -1.0000; it falls below 0.9 at xrelu4_Relu_si8 (tpu.Cast at line 19), to -1.0000" in done.stdout
    assert tdb_dap(*check, "--fail-on", "op").returncode == 0


@pytest.fixture
def mean(tmp_path: Path) -> Path:
    """The context directory of sums less numbers near to them, in its working directory."""
    shutil.copytree(MEAN, tmp_path / "mean")
    return tmp_path / "mean" / "context"


def test_what_a_subtraction_magnifies_accuses_no_op_but_says_where(mean: Path) -> None:
    """Against the compiler's own tensors, whose sums are those of f32."""
    done = tdb_dap("check", mean)
    assert done.returncode == 1
    assert done.stdout.startswith("differs by accumulated rounding; no op at fault: "), done.stdout
    assert "it falls below 0.9 at difference_Sub (tpu.Sub at line 20), from 1.0000 to 0.76" in done.stdout


def test_what_adds_up_to_an_output_is_no_fault_of_an_op(mean: Path) -> None:
    """With the reference's operands each op is right; the output is what the last of them has stored."""
    done = tdb_dap("check", mean, "--fail-on", "op")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "differs by accumulated rounding; no op at fault: first beyond its limits is difference"
    )
    assert "no op of final.mlir is known to compute it" not in done.stdout


def test_a_wrong_reference_behind_what_is_magnified_is_no_rounding(mean: Path) -> None:
    outputs = mean.parent / "mean_bm1690_bf16_tpu_outputs.npz"
    tensors = dict(read_npz(outputs))
    tensors["scaled_Mul"] = tensors["scaled_Mul"] + np.float32(9)
    write_npz(outputs, tensors)
    done = tdb_dap("check", mean)
    assert done.returncode == 1
    assert done.stdout.startswith("fail: first to differ is scaled_Mul (tpu.Mul at line 21)"), done.stdout
    assert "no op is wrong" not in done.stdout


def test_an_output_far_from_the_model_s_leads_to_the_ops_to_keep(mean: Path) -> None:
    lines = tdb_dap("triage", mean).stdout.splitlines()
    assert lines[-2].startswith("quantisation: no op is wrong; the output has cosine 0.7"), lines[-2]
    assert re.fullmatch(r"next: tdb-dap triage \S+ --quantize-table quantize_table.txt", lines[-1]), lines[-1]
    assert any(re.fullmatch(r" +\d\.\d+%  sum_ReduceSum \(tpu.Reduce\)", line) for line in lines), "of the chip"


def test_an_op_whose_operand_is_not_on_the_chip_is_judged_from_the_nearest_one(
    toy: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler may take one op in place of several: what is between is computed, rounded to each format."""
    packed = toy.context / "tensor_location.json.xz"
    text = lzma.decompress(packed.read_bytes()).decode()
    assert '"conv8_Conv"' in text
    packed.unlink()
    (toy.context / "tensor_location.json").write_text(text.replace('"conv8_Conv"', '"of_the_compiler"'), "utf-8")
    _move_expected(monkeypatch)
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--golden")
    done = tdb_dap(*check)
    assert (done.returncode, done.stdout[:6]) == (0, "pass: "), done.stdout
    toy.spoil_bmodel()
    done = tdb_dap(*check)
    assert done.returncode == 1
    assert done.stdout.startswith("fail: first to differ is mul10_Mul (tpu.Lut at line 24)")


def test_roundings_that_the_reference_makes_add_up_as_well(toy: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compilation's own tensors, off by what rounds otherwise on the way: both sides are judged op by op."""
    arrays = read_npz(toy.tpu_outputs)
    write_npz(toy.tpu_outputs, {name: one if name == "x" else one * np.float32(1.05) for name, one in arrays.items()})
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--reference", toy.tpu_outputs)
    assert tdb_dap(*check).returncode == 1, "the reference's own ops do not compute that: it is wrong"
    judged = judging.executed

    def sound(level: Level, tensors: Mapping[str, Array], ops: Sequence[MlirOp], closely: bool) -> list[Judged]:
        return [replace(one, verdict="quantisation") for one in judged(level, tensors, ops, closely)]

    monkeypatch.setattr("tdb_dap.tools.golden.judging.executed", sound)
    done = tdb_dap(*check)
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "pass: 20 tensors compared"), done.stdout
    assert tdb_dap(*check, "--tolerance", "euclidean=0.99").returncode == 1, "limits that the user gives are kept"
    other = toy.folder / "other.npz"
    write_npz(other, read_npz(toy.tpu_outputs))
    assert tdb_dap(*check[:-1], other).returncode == 1, "a reference of unknown origin is compared without a change"
    toy.spoil_bmodel()
    done = tdb_dap(*check)
    assert (done.returncode, done.stdout.split(" (")[0]) == (1, "fail: first to differ is conv8_Conv")


@pytest.mark.parametrize(("factor", "code"), [(0.95, 0), (0.85, 1)])
def test_outputs_alone_are_judged_by_the_ops_of_the_chip(factor: float, code: int, toy: Compiled) -> None:
    """A reference that holds no other tensor: as near as the compiler wants it, and no op is wrong."""
    outputs = {name: one for name, one in read_npz(toy.tpu_outputs).items() if name.endswith("_f32")}
    write_npz(toy.tpu_outputs, {name: one * np.float32(factor) for name, one in outputs.items()})
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--reference", toy.tpu_outputs)
    done = tdb_dap(*check)
    assert done.returncode == code, done.stdout
    assert ("; the reference holds no result of an op before it; 1 tensor compared" in done.stdout) == bool(code)
    assert tdb_dap(*check, "--tolerance", "euclidean=0.99").returncode == 1, "limits that the user gives are kept"
    toy.spoil_bmodel()
    assert tdb_dap(*check).returncode == 1


@pytest.mark.parametrize("options", [(), ("--blame",)])
def test_what_the_formats_cost_blames_no_op(options: tuple[str, ...], toy: Compiled) -> None:
    """INT8 compared with the float model: what differs is no fault, and no pass either."""
    reference = toy.folder / "toy_top_outputs.npz"
    name = "softmax16_Softmax"
    assert name in read_npz(reference)
    inputs = toy.folder / "toy_in_f32.npz"
    check = ("check", toy.context, "--inputs", inputs, "--reference", reference, *options, "--tolerance", "ulp=0")
    done = tdb_dap(*check)
    assert done.returncode == 1
    assert done.stdout.startswith("differs by accumulated rounding; no op at fault"), done.stdout
    assert tdb_dap(*check, "--fail-on", "op").returncode == 0
    toy.spoil_bmodel()
    done = tdb_dap(*check)
    assert done.returncode == 1
    assert done.stdout.startswith("fail: first "), done.stdout


def of_averages(golden: Golden) -> Golden:
    """A golden of poolings that knows no maximum."""

    def known(call: Call) -> Array | tuple[Array, ...]:
        if call.get("pool_mode") == "Max":
            raise NoGolden("no golden function")
        return golden(call)

    return known


def test_an_op_without_a_golden_is_judged_with_the_references_operands(
    toy: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As look-up tables of bfloat16: what goes in is off by roundings that add up, and so is what comes out."""
    name = "maxpool5_MaxPool"
    arrays = read_npz(toy.tpu_outputs)
    write_npz(toy.tpu_outputs, {name: one if name == "x" else one * np.float32(0.95) for name, one in arrays.items()})
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--reference", toy.tpu_outputs)
    judged = judging.executed

    def sound(level: Level, tensors: Mapping[str, Array], ops: Sequence[MlirOp], closely: bool) -> list[Judged]:
        return [
            replace(one, verdict="unknown" if one.name == name else "quantisation")
            for one in judged(level, tensors, ops, closely)
        ]

    monkeypatch.setattr("tdb_dap.tools.golden.judging.executed", sound)
    for goldens in (GOLDENS, INTEGER):
        monkeypatch.setitem(goldens, "tpu.Pool2D", of_averages(goldens["tpu.Pool2D"]))
    done = tdb_dap(*check)
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "pass: 20 tensors compared"), done.stdout
    arrays[name] = 1.2 * arrays[name]  # the op does not compute that of the reference's operands
    write_npz(toy.tpu_outputs, {name: one if name == "x" else one * np.float32(0.95) for name, one in arrays.items()})
    done = tdb_dap(*check)
    assert done.returncode == 1
    assert done.stdout.startswith(f"fail: first to differ is {name} (tpu.Pool2D"), done.stdout


def test_a_reference_for_other_inputs_is_no_rounding(toy: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = judging.executed

    def sound(level: Level, tensors: Mapping[str, Array], ops: Sequence[MlirOp], closely: bool) -> list[Judged]:
        return [replace(one, verdict="quantisation") for one in judged(level, tensors, ops, closely)]

    monkeypatch.setattr("tdb_dap.tools.golden.judging.executed", sound)
    toy.change(toy.folder / "toy_in_f32.npz", "x", lambda array: array * np.float32(0.9))
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--reference", toy.tpu_outputs)
    assert tdb_dap(*check).returncode == 1


def looked(actual: list[float], covered: float, role: Role = "result", line: int = 1) -> Looked:
    """A row of the tensor y, whose numbers are expected to be 1, 2, 3 and 4."""
    row = Row(
        line=line,
        opcode="tpu.Cast",
        name="y",
        role=role,
        index=0,
        dtype="f16",
        first=0,
        last=0,
        pieces=1,
        covered=covered,
        verdict="pass",
        reason="",
    )
    return Looked(row, np.array(actual), np.array([1.0, 2.0, 3.0, 4.0]))


def test_parts_of_several_cores_are_one_tensor() -> None:
    """What a core did not write is the expected number in its row: no part is judged as if it were the tensor."""
    parts = [looked([1.5, 2.5, 3, 4], 0.5), looked([1, 2, 3.5, 4.5], 0.5, line=2)]
    assert shadows.computed_of(parts)["y"].tolist() == [1.5, 2.5, 3.5, 4.5]
    assert shadows.computed_of(parts[:1]) == {}
    whole = np.array([1.5, 2.5, 3.5, 4.5])
    assert shadows.holds(looked([1.5, 2.5, 3, 4], 0.5, "operand"), whole)
    assert not shadows.holds(looked([1.5, 2.6, 3, 4], 0.5, "operand"), whole), "overwritten since"
    assert not shadows.holds(looked([1.5, 2.5, 3, 4], 1, "operand"), whole)


def test_what_ops_only_read_is_known_as_a_tensor_of_the_chip() -> None:
    """The compiler reshapes a product into what a later op reads: no op computes it by its name."""
    read = looked([1.5, 2, 3, 4], 1, "operand")
    assert shadows._operands_of([read])["y"].tolist() == [1.5, 2, 3, 4]
    parts = [looked([1.5, 2, 3, 4], 0.5, "operand"), looked([1, 2, 3, 4.5], 0.5, "operand", line=2)]
    assert shadows._operands_of(parts)["y"].tolist() == [1.5, 2, 3, 4.5]
    assert shadows._operands_of(parts[:1]) == {}, "a part of it"
    assert shadows._operands_of([looked([1.5, 2, 3, 4], 1)]) == {}


def without_scratch(toy: Compiled) -> None:
    """Records that give no op its scratch space, as compilers leave them for some ops."""
    packed = toy.context / "tensor_location.json.xz"
    records = json.loads(lzma.decompress(packed.read_bytes()))
    assert any(record["buffers"] for record in records)
    packed.unlink()
    for record in records:
        record["buffers"] = []
    (toy.context / "tensor_location.json").write_text(json.dumps(records), "utf-8")


def test_scratch_space_that_no_record_gives_spoils_no_tensor(toy: Compiled) -> None:
    without_scratch(toy)
    assert "beyond the buffers of" in tdb_dap("sanitize", toy.context, "--quiet").stdout
    triaged = triage(toy.context)
    assert triaged.verdict == "quantisation", triaged.sentence
    assert any(text.endswith("; no tensor is spoiled by it") for text in triaged.sanitizers)


def test_with_a_spoiled_tensor_it_does(toy: Compiled) -> None:
    without_scratch(toy)
    toy.spoil_bmodel()
    triaged = triage(toy.context)
    assert (triaged.verdict, triaged.tensor) == ("bug", "conv8_Conv")
    assert not any("no tensor is spoiled" in text for text in triaged.sanitizers)


def test_a_table_whose_entries_are_one_on_is_a_wrong_lowering(toy: Compiled) -> None:
    """Neighbouring entries of a smooth function differ by a step or two: the nearest number is asked of each."""
    toy.change(toy.tpu_weights, "mul10_Mul_table", lambda table: np.roll(table, 1))
    toy.interpret()
    triaged = triage(toy.context)
    assert (triaged.verdict, triaged.stage, triaged.tensor) == ("bug", "tpu", "mul10_Mul")


def test_a_reference_that_contradicts_itself_is_told_from_a_wrong_op(toy: Compiled) -> None:
    """As that of an LSTM: the compiler loses the names of its results, and its interpreter takes one for another."""
    arrays = read_npz(toy.tpu_outputs)
    del arrays["conv8_Conv"]
    arrays["mul10_Mul"] = 3 * arrays["mul10_Mul"]
    write_npz(toy.tpu_outputs, arrays)
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--reference", toy.tpu_outputs)
    done = tdb_dap(*check)
    text = (
        "the op is right, the reference is not: its mul10_Mul is far from what the nearest known tensors "
        "give through tpu.Conv2D at line 13"
    )
    assert done.returncode == 1
    assert done.stdout.startswith("fail: first to differ is mul10_Mul")
    assert text in done.stdout
    toy.spoil_bmodel()
    done = tdb_dap(*check)
    assert (done.returncode, "its mul10_Mul is far" in done.stdout) == (1, False), done.stdout


@pytest.mark.parametrize(("distance", "compared"), [(4096, 18), (0, 21)])
def test_a_name_of_several_results_is_not_compared(distance: int, compared: int, toy: Compiled) -> None:
    packed = toy.context / "tensor_location.json.xz"
    records = json.loads(lzma.decompress(packed.read_bytes()))
    for record in records:
        result = record["results"][0] if record["results"] else {}
        if result.get("name") == "conv8_Conv":
            record["results"].append({**result, "address": result["address"] + distance})
    packed.unlink()
    (toy.context / "tensor_location.json").write_text(json.dumps(records), "utf-8")
    inputs = ("--inputs", toy.folder / "toy_in_f32.npz", "--reference", toy.tpu_outputs)
    done = tdb_dap("check", toy.context, *inputs, "--all")
    assert done.stdout.splitlines()[-1].startswith(f"pass: {compared} tensors compared"), done.stdout
    assert ("several results of its op have this name" in done.stdout) == bool(distance)
