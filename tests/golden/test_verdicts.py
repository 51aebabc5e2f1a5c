"""The court: every sound compilation is acquitted, every fault is named by its stage, op and kind."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.onnx_inputs import input_shapes
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.triage.sensitivity import mixed
from tdb_dap.tools.triage.triaging import triage
from tests.command_line import tdb_dap
from tests.compilation_faults import FAULTS, Fault
from tests.made_compilation import FLOATS, Made, attention, dense

SOUND = "incomplete: no bmodel was written; up to stage tpu no op is wrong"
SEEDS = range(3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", [*FLOATS, "INT8"])
def test_a_sound_network_of_convolutions_is_acquitted(mode: str, seed: int, tmp_path: Path) -> None:
    triaged = triage(Made(tmp_path, mode, net=dense(seed)).folder)
    assert triaged.sentence.startswith(SOUND), triaged.sentence
    assert [stage.judged for stage in triaged.stages[:3]] == [9, 9, 9 if mode == "F32" else 11]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", FLOATS)
def test_a_sound_layer_of_attention_is_acquitted(mode: str, seed: int, tmp_path: Path) -> None:
    triaged = triage(Made(tmp_path, mode, net=attention(seed)).folder)
    assert triaged.sentence.startswith(SOUND), triaged.sentence


@pytest.mark.parametrize(
    ("fault", "mode"),
    [
        pytest.param(fault, mode, id=f"{fault.kind}, {fault.stage}, {fault.tensor}, {mode}")
        for fault in FAULTS
        for mode in fault.modes
    ],
)
def test_a_fault_is_named(fault: Fault, mode: str, tmp_path: Path) -> None:
    made = Made(tmp_path, mode, net=attention(4) if fault.is_attention else dense(4))
    fault.put(made)
    triaged = triage(made.folder)
    assert (triaged.verdict, triaged.stage, triaged.tensor.split("__")[0]) == ("bug", fault.stage, fault.tensor), (
        triaged.sentence
    )


def test_there_are_fifteen_kinds_of_faults() -> None:
    assert len({fault.kind for fault in FAULTS}) >= 15
    assert {fault.stage for fault in FAULTS} == {"as imported", "top", "tpu"}


# Range


def test_numbers_beyond_the_range_are_a_range_and_not_a_bug(tmp_path: Path) -> None:
    """The scores of attention beyond 65504: most outputs are NaN. The table fixes it, with the promised similarity."""
    made = Made(tmp_path, "F16", net=attention(1, 9000.0))
    done = tdb_dap("triage", made.folder, "--quiet")
    assert done.returncode == 1
    assert done.stderr == "", "no warning of NumPy's"
    verdict, command = done.stdout.splitlines()[-2:]
    assert re.match(r"range: \d+ of 512 numbers of output r_Sub_f32 are NaN: s_MatMul \(tpu.MatMul at ", verdict), (
        verdict
    )
    assert "F16 ends at 65,504: keep it in F32 or BF16" in verdict
    largest = float(np.abs(np.load(made.tensors["top_mlir"])["s_MatMul"]).max())
    assert f"reaches {largest:,.6g}" in verdict, "the model's own number"
    assert "keep in F32: q_MatMul, s_MatMul, t_MulConst" in done.stdout
    assert command.endswith("--quantize-table quantize_table.txt")
    table = tmp_path / "table.txt"
    done = tdb_dap("triage", made.folder, "--quantize-table", table)
    assert (done.returncode, "it holds NaNs or infinities now" in done.stdout) == (0, True), done.stdout
    assert table.read_text("utf-8").splitlines()[2:] == [
        f"{name} F32" for name in ("q_MatMul", "s_MatMul", "t_MulConst")
    ]


def test_infinities_within_the_range_are_a_bug(tmp_path: Path) -> None:
    """The near miss: the same NaNs at the output, and no number beyond the range."""
    made = Made(tmp_path, "F16", net=attention(1))
    made.change(made.tensors["tpu_mlir"], "s_MatMul", lambda array: np.where(array > 1, np.inf, array))
    made.change(made.tensors["tpu_mlir"], "r_Sub_f32", lambda array: array * np.nan)
    triaged = triage(made.folder)
    assert (triaged.verdict, triaged.tensor) == ("bug", "s_MatMul")
    assert triaged.sentence.startswith("bug: all 512 numbers of output r_Sub_f32 are NaN: s_MatMul ")
    assert triaged.keep == ()


def test_a_range_that_does_no_harm_is_a_remark(tmp_path: Path) -> None:
    """One score far beyond the range: infinite or not, the softmax makes zeros of the others."""
    x, layers = attention(1)
    scores = Made(tmp_path / "plain", "F32", net=(x, layers)).tensors["top_mlir"]
    largest = float(np.abs(np.load(scores)["s_MatMul"]).max())
    made = Made(tmp_path / "far", "F16", net=attention(1, 90000 / largest))
    tensors = dict(np.load(made.tensors["tpu_mlir"]))
    assert np.isinf(tensors["s_MatMul"]).any()
    # A chip that multiplies the greatest number instead of infinity: the softmax makes zeros of the others either way.
    half = TensorType(None, "f16").stored
    sound = np.load(made.tensors["top_mlir"])["t_MulConst"]
    t = tensors["t_MulConst"] = np.where(np.isfinite(tensors["t_MulConst"]), tensors["t_MulConst"], half(sound))
    shares = np.exp(t - t.max(axis=2, keepdims=True))
    tensors["p_Softmax"] = half(shares / shares.sum(axis=2, keepdims=True))
    tensors["o_MatMul"] = half(tensors["p_Softmax"] @ tensors["v_MatMul"])
    tensors["r_Sub_f32"] = tensors["r_Sub"] = half(half(made.x) - tensors["o_MatMul"])
    np.savez(made.tensors["tpu_mlir"], **tensors)
    triaged = triage(made.folder)
    assert triaged.keep == ()
    assert (
        "numbers of s_MatMul are beyond the range of their format, which the output does not show" in triaged.sentence
    )


def test_nans_that_no_op_makes_are_said(tmp_path: Path) -> None:
    made = Made(tmp_path, "F16", net=attention(1))
    made.change(made.tensors["tpu_mlir"], "r_Sub", lambda array: array * np.nan)
    made.edit("tpu_mlir", "r_Sub", '"tpu.Sub"', '"tpu.Unheard"')
    made.change(made.tensors["tpu_mlir"], "r_Sub_f32", lambda array: array * np.nan)
    triaged = triage(made.folder)
    assert triaged.is_wrong
    assert "all 512 numbers of output r_Sub_f32 are NaN" in triaged.sentence


# Chips without arithmetic, and what is kept in which format


def test_a_chip_whose_arithmetic_is_not_known_is_judged_up_to_top(tmp_path: Path) -> None:
    made = Made(tmp_path, "INT8", "cv199x", net=dense(1))
    made.change(made.tensors["tpu_mlir"], "c_Conv", lambda array: array + 1)
    done = tdb_dap("triage", made.folder, "--quiet")
    assert done.returncode == 0, "tensors that cannot be judged accuse nobody"
    assert "judged up to stage top, as the arithmetic of CV199X is not known here" in done.stdout
    assert not done.stdout.splitlines()[-1].startswith("next:")
    made.change(made.weights["top_mlir"], "c_Conv_w0", np.negative)
    assert triage(made.folder).stage == "top", "what was imported is judged all the same"


def test_a_wrong_tensor_of_cv18xx_is_of_stage_tpu(tmp_path: Path) -> None:
    made = Made(tmp_path, "INT8", "cv181x", net=dense(1))
    assert "up to stage tpu no op is wrong" in triage(made.folder).sentence
    made.change(made.tensors["tpu_mlir"], "c_Conv", lambda array: array + 1)
    triaged = triage(made.folder)
    assert (triaged.stage, triaged.is_wrong) == ("tpu", True)
    assert "c_Conv" in triaged.sentence


@pytest.mark.parametrize(("chip", "kept_in"), [("cv181x", "BF16"), ("bm1684", "F32"), ("bm1684x", "F16")])
def test_the_table_names_a_format_that_the_chip_has(chip: str, kept_in: str, tmp_path: Path) -> None:
    made = Made(tmp_path, "INT8", chip, net=dense(1))
    mixing = mixed(made.folder, 0.99999)
    assert mixing.kept
    assert {line.split()[1] for line in mixing.table.splitlines()[2:]} == {kept_in}


def test_a_chip_without_a_more_precise_float_says_so(tmp_path: Path) -> None:
    """Exit code 1 if more was asked for than it has; 0 if that is enough."""
    made = Made(tmp_path / "made", "BF16", "cv181x", net=attention(1))
    given = ("triage", made.folder, "--quantize-table", tmp_path / "table", "--quiet", "--cosine")
    done = tdb_dap(*given, "0.9999999")
    assert (done.returncode, "cv181x has no float that is more precise than BF16" in done.stdout) == (1, True)
    assert "0.9999999, which was asked for, is not reached" in done.stdout
    done = tdb_dap(*given, "0.99")
    assert (done.returncode, "no float" in done.stdout) == (0, False)


# Tables that are compiled


def compiler(folder: Path, script: str) -> str:
    """A PATH with a compiler that does what a script says."""
    program = folder / "bin" / "model_deploy"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


def noted(made: Made) -> Path:
    """The context directory with the compiler's notes of how it was compiled."""
    context = made.folder / "context"
    context.mkdir()
    (context / "ref_files.json").write_text(
        '{"files": {}, "commands": {"deploy_cmd": "model_deploy.py --quantize INT8 --processor bm1684x"}}', "utf-8"
    )
    return context


def test_a_table_is_compiled_and_what_came_is_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler gives the same model again, whatever the table says: the promise is not kept."""
    made = Made(tmp_path / "made", "INT8", net=dense(1))
    context = noted(made)
    files = " ".join(str(path) for path in (made.texts["tpu_mlir"], made.weights["tpu_mlir"], made.tensors["tpu_mlir"]))
    script = f'cp {files} .\ngrep -q " F16" "$PWD/quantize_table.txt" || exit 3\necho "$@" >> {tmp_path}/calls'
    monkeypatch.setenv("PATH", compiler(tmp_path, script))
    now = triage(made.folder / "context").cosine
    assert now is not None
    done = tdb_dap("triage", context, "--quantize-table", tmp_path / "t", "--cosine", "0.99999", "--quiet")
    assert done.returncode == 1, done.stderr
    assert f"compiled by it the output has cosine {now:.6f}" in done.stdout
    assert "0.99999, which was asked for, is not reached" in done.stdout
    calls = (tmp_path / "calls").read_text("utf-8").splitlines()
    assert 1 <= len(calls) <= 3
    assert "--quantize INT8 --processor bm1684x --mlir net.mlir" in calls[0]
    assert "--quantize_table quantize_table.txt" in calls[0]


def test_a_compiler_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = noted(Made(tmp_path / "made", "INT8", net=dense(1)))
    monkeypatch.setenv("PATH", compiler(tmp_path, "echo no such layer; exit 1"))
    done = tdb_dap("triage", context, "--quantize-table", tmp_path / "t", "--cosine", "0.99999", "--quiet")
    assert (done.returncode, "model_deploy failed with the table: no such layer" in done.stdout) == (1, True)


# An import that broke off


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def onnx_model(name: str, shape: tuple[int, ...]) -> bytes:
    """A model with one input and nothing else."""
    axes = b"".join(message(1, varint(8) + varint(extent)) for extent in shape)
    tensor = message(1, varint(8) + varint(1) + message(2, axes))
    return varint(8) + varint(8) + message(7, message(11, message(1, name.encode()) + message(2, tensor)))


def broken_off(made: Made) -> None:
    """What a model_transform leaves that breaks off when it computes the model."""
    for path in (*made.tensors.values(), made.texts["tpu_mlir"], made.weights["tpu_mlir"]):
        path.unlink()


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((1, 12, 12, 8), "top.Input x is 1x8x12x12, the model's input 1x12x12x8"),
        ((1, 8, 12, 12), "it left no tensors of the model that it was given an input for"),
    ],
)
def test_an_import_that_broke_off_is_named(shape: tuple[int, ...], sentence: str, tmp_path: Path) -> None:
    made = Made(tmp_path, "F32", net=dense(1))
    broken_off(made)
    (made.folder / "net.onnx").write_bytes(onnx_model("x", shape))
    done = tdb_dap("triage", made.folder, "--quiet")
    assert done.returncode == 1
    verdict, command = done.stdout.splitlines()[-2:]
    assert verdict == f"incomplete: model_transform broke off at stage as imported: {sentence}"
    assert command.startswith("next: model_transform: ")


def test_an_import_without_an_input_did_not_break_off(tmp_path: Path) -> None:
    """The near miss: nobody asked for tensors."""
    made = Made(tmp_path, "F32", net=dense(1))
    broken_off(made)
    (made.folder / "net_in_f32.npz").unlink()
    done = tdb_dap("triage", made.folder, "--quiet")
    assert (done.returncode, "broke off" in done.stdout) == (2, False)
    assert "run model_transform with --test_input" in done.stdout


@pytest.mark.parametrize("cut", [1, 9, 20])
def test_a_damaged_model_is_one_line(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    data = onnx_model("x", (1, 3, 640, 0))
    path.write_bytes(data)
    assert input_shapes(path) == {"x": (1, 3, 640, 0)}
    path.write_bytes(data[:-cut])
    with pytest.raises(BadInput, match="cannot be read as an ONNX model"):
        input_shapes(path)
