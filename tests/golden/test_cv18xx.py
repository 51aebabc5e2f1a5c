"""Stages of a deployment for CV18xx: how its ops differ from those of other chips, and the error of the compiler."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.cli.main import main
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.formats import tensor_type
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.golden.library import Call, NoGolden, compute
from tdb_dap.tools.triage.triaging import triage
from tests.samples import DATA

DEPLOYMENT = DATA / "deployments" / "act_relu_cv181x_int8"


def test_triage_names_the_op_that_reads_a_spoiled_input() -> None:
    """INT8 PReLU computes min(x, 0) in place of x, which relu and leaky relu read next."""
    triaged = triage(DEPLOYMENT)
    assert triaged.stage == "bmodel"
    assert "relu1_Relu (tpu.Relu at" in triaged.sentence
    judged = {stage.stage: (stage.judged, stage.bugs) for stage in triaged.stages}
    assert judged["tpu"] == (7, 0)
    assert judged["bmodel"] == (7, 2)


def test_check_compares_with_goldens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(DEPLOYMENT), "--golden", "--quiet"]) == 1
    assert "first to differ is leakyrelu2_LeakyRelu" in capsys.readouterr().out


def test_what_is_typed_as_f32_is_computed_in_bfloat16(tmp_path: Path) -> None:
    name = "act_relu_cv181x_int8_sym_tpu.mlir"
    for path in (DEPLOYMENT / name, DEPLOYMENT / "act_relu_cv181x_int8_sym_tpu_weights.npz"):
        shutil.copy(path, tmp_path)
    formats = []
    for chip in ("cv181x", "bm1684x"):
        (tmp_path / name).write_text((DEPLOYMENT / name).read_text().replace('"cv181x"', f'"{chip}"'))
        level = Level("tpu", tmp_path / name)
        kind = level.type_named("relu1_Relu_f32")
        assert kind is not None
        formats.append(kind.storage)
    assert formats == ["bf16", "f32"]


def call(name: str, words: Sequence[Sequence[float]], types: list[str], **attributes: object) -> list[float]:
    """Stored results of an op of integers on stored words; all results have a scale of 1."""
    kinds = tuple([tensor_type(text) for text in types])
    inputs: list[Array | None] = [
        np.array(row, np.float64).reshape(kind.shape or ()) * kind.scale if kind is not None else None
        for row, kind in zip(words, kinds, strict=True)
    ]
    result = tensor_type("tensor<1x2x1x1x!quant.uniform<i8:f32, 1.0>>")
    (numbers,) = compute(Call(name, tuple(inputs), attributes, kinds, (result,)))
    found: list[float] = numbers.reshape(-1).tolist()
    return found


BYTES = "tensor<1x2x1x1x!quant.uniform<i8:f32, 0.5>>"


def test_a_multiplier_of_the_mode_qdm_is_a_fraction() -> None:
    weight, bias = "tensor<2x2x1x1xsi8>", "tensor<1x2x1x1xi32>"
    attributes = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0, 0, 0, 0], "group": 1}
    factors = {"quant_mode": "#tpu<rq_mode QDM>", "multiplier": [1 << 30, 1 << 30], "rshift": [1, 2]}
    words = [[3, 5], [1, 1, 2, 2], [8, 0]]
    assert call("tpu.Conv2D", words, [BYTES, weight, bias], **attributes, **factors) == [4.0, 2.0]


def test_one_shift_is_that_of_all_operands() -> None:
    factors = {"multipliers": [3, 5], "rshifts": [1]}
    assert call("tpu.Add", [[3, 5], [1, 2]], [BYTES, BYTES], **factors) == [7.0, 12.5]
    assert call("tpu.Max", [[3, 5], [1, 8]], [BYTES, BYTES], **factors) == [4.5, 20.0]
    with pytest.raises(NoGolden, match="factors of another number"):
        call("tpu.Add", [[3, 5], [1, 2]], [BYTES, BYTES], multipliers=[3, 5, 7], rshifts=[1])


def test_both_signs_may_have_a_factor() -> None:
    factors = {"multiplier": 3, "rshift": 1, "multiplier_neg": 5, "rshift_neg": 2}
    assert call("tpu.LeakyRelu", [[2, -4]], [BYTES], **factors) == [3.0, -5.0]
    slope = "tensor<1x2x1x1xi8>"
    factors = {"multiplier_pos": 3, "rshift_pos": 1, "rshift": 2}
    assert call("tpu.PReluOp", [[2, -4], [7, 5]], [BYTES, slope], **factors) == [3.0, -5.0]


def test_only_the_quantisation_of_the_host_is_known() -> None:
    assert call("tpu.GenericCpu", [[3, 5]], [BYTES], cpu_op_name="quant") == [1.5, 2.5]
    with pytest.raises(NoGolden, match="host function argmax_v3"):
        call("tpu.GenericCpu", [[3, 5]], [BYTES], cpu_op_name="argmax_v3")


LSTM = DATA / "deployments" / "lstm_cv181x_bf16"


def rewritten(folder: Path, name: str, **arrays: Array) -> Path:
    """A copy of the compilation whose file of that name holds other arrays."""
    copy = Path(shutil.copytree(LSTM, folder / "copy"))
    with np.load(copy / name) as archive:
        np.savez(copy / name, **{**archive, **arrays})
    return copy


def test_an_lstm_has_its_product_outside_and_its_functions_in_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(LSTM), "--golden"]) == 0
    done = capsys.readouterr()
    assert "pass: 12 tensors compared, 0 differ, 10 not compared (10 weights)" in done.out
    assert "no golden" not in done.err
    weights = "lstm_cv181x_bf16_tpu_weights.npz"
    with np.load(LSTM / weights) as archive:
        table = archive["y_LSTM_sigmoid_table_bf16"]
    spoiled = rewritten(tmp_path, weights, y_LSTM_sigmoid_table_bf16=np.roll(table, 8))
    assert main(["check", str(spoiled), "--golden", "--quiet"]) == 1
    assert "first to differ is y_LSTM (tpu.LSTM" in capsys.readouterr().out


@pytest.mark.parametrize(("noise", "code"), [(0.03, 0), (0.3, 1)])
def test_outputs_near_those_of_the_interpreter_pass_with_what_their_op_was_given(
    noise: float, code: int, tmp_path: Path
) -> None:
    """Its file has two tensors then, of which one is no output: the number of the last op, and what it converts."""
    name = "lstm_cv181x_bf16_tpu_outputs.npz"
    with np.load(LSTM / name) as archive:
        own = {key: archive[key] for key in ("z_Gemm", "z_Gemm_f32")}
    off = np.where(np.arange(30) % 2, 1 + noise, 1 - noise).astype(np.float32).reshape(6, 5)
    folder = rewritten(tmp_path, name)
    np.savez(folder / name, **{key: numbers * off for key, numbers in own.items()})
    assert main(["check", str(folder), "--quiet"]) == code
