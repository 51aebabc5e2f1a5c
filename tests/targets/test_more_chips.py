"""Where BM1684X2, CV184X, SGTPUV8 and SG2380 differ from their relatives; all numbers are the vendor's emulators'."""

from __future__ import annotations

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.samples import Case, of_more_chips
from tests.targets.commands import chip_named, command, empty


@pytest.mark.parametrize("case", of_more_chips(), ids=lambda case: case.name)
def test_a_compiled_model_has_the_outputs_of_the_vendor(case: Case) -> None:
    """By the runtime; of SG2380, which it does not know, by the emulator."""
    debugger = tdb_dap.open(case.path, inputs=case.inputs)
    assert debugger.run().reason == "end"
    outputs = debugger.outputs()
    assert outputs.keys() == case.truth.keys()
    for name, expected in case.truth.items():
        np.testing.assert_array_equal(outputs[name].ravel(), expected.ravel(), err_msg=name)


def results(chip: str, described: Description, **words: object) -> list[object]:
    """What a command computes of the words of its operands, by role."""
    target = chip_named(chip)
    memory = empty(target)
    operands = dict(described.binding.operands)
    for role, given in words.items():
        view = operands[role]
        assert isinstance(view, View)
        memory.write(view, np.broadcast_to(np.asarray(given, view.dtype.bits_dtype), view.shape))
    target.execute(described, memory)
    result = described.results[0]
    assert isinstance(result, View)
    found: list[object] = memory.read(result).reshape(-1).tolist()
    return found


ONE_BY_ONE = {"res0_n": 1, "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1, "opd3_const": 1}


@pytest.mark.parametrize(
    ("chip", "sums"), [("CV184X", [1010, 1020]), ("BM1684X2", [1010, 1020]), ("SG2380", [1007, 1014])]
)
def test_a_convolution_has_zero_points_of_its_weights_or_has_not(chip: str, sums: list[int]) -> None:
    shape = {"res0_c": 1, "res0_h": 1, "res0_w": 2, "opd0_c": 1, "opd0_h": 1, "opd0_w": 2}
    formats = {"res0_prec": 4, "res0_sign": 1, "opd1_sign": 1, "opd2_sign": 1}
    places = {"opd0_addr": 4096, "opd1_addr": 8192, "opd2_addr": 16384, "res0_addr": 24576}
    described = command(chip_named(chip), "conv.normal", **ONE_BY_ONE, **shape, **formats, **places)
    words = {"input": [[[[1, 2]]]], "weight": 10, "bias": 1000}
    if "kernel_zero" in described.binding.operands:
        words["kernel_zero"] = 3
    assert results(chip, described, **words) == sums
    assert ("kzp" in described.attributes) is False


def matrix(chip: str, **values: int) -> Description:
    """A product of 1 x 2 and 2 x 3 8-bit numbers with a bias."""
    shape = {"res0_c": 1, "res0_w": 3, "opd1_c": 2, "opd1_w": 3}
    places = {"opd0_addr": 4096, "opd1_addr": 8192, "opd2_addr": 12288, "res0_addr": 20480}
    signs = {"opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1, "res0_sign": 1}
    return command(chip_named(chip), "mm2.nn", **{"res0_prec": 4} | shape | places | signs | values)


@pytest.mark.parametrize(("chip", "sums"), [("CV184X", [1081, 2111, 3141]), ("BM1684X2", [1090, 2120, 3150])])
def test_a_matrix_has_zero_points_or_has_not(chip: str, sums: list[int]) -> None:
    described = matrix(chip)
    words: dict[str, object] = {"left": [[1, 2]], "right": [[10, 20, 30], [40, 50, 60]]}
    words["bias"] = np.array([1000, 2000, 3000]).reshape(1, 1, 1, 3)
    if "zero_points" in described.binding.operands:
        words["zero_points"] = 3
    assert results(chip, described, **words) == sums


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0, [0, 2, -2]), (1, [1, 2, -2]), (2, [0, 1, -1]), (3, [0, 1, -2]), (4, [1, 2, -1]), (5, [1, 2, -1])],
)
def test_sums_of_a_matrix_are_requantised_by_a_float_on_bm1684x2(mode: int, expected: list[int]) -> None:
    described = matrix("BM1684X2", rq=1, res0_prec=0, opd2_n_str=mode)
    assert "requantisation" not in described.binding.operands
    scale = described.binding.operands["column_scale"]
    assert isinstance(scale, View)
    assert (scale.dtype, scale.shape) == (F32, (1, 16, 1, 3))
    words = {"left": 0, "right": 0, "bias": np.array([1, 3, -3]).reshape(1, 1, 1, 3)}
    # Bias and scales lie where the registers say: at zero, which none has written.
    half = F32.encode(np.array([0.5], np.float32))[0]
    found = results("BM1684X2", described, **words, column_scale=half)
    assert SI8.decode(np.array(found, np.uint8)).tolist() == expected


def arithmetic(name: str, left: int, right: int, **values: int) -> int:
    """The word that an operation of BM1684X2 gives for two words of f16."""
    formats = {"opd0_prec": 1, "opd1_prec": 1, "res0_prec": 1, "tsk_opd_num": 2}
    places = {"opd1_addr": 4096, "res0_addr": 8192, "res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1}
    described = command(chip_named("BM1684X2"), f"arith.{name}", **formats | places | values)
    words = {role: word for role, word in (("left", left), ("right", right)) if role in described.binding.operands}
    (found,) = results("BM1684X2", described, **words)
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("add", 0x0000, 0x0001, 0x0000),
        ("add", 0x8B9A, 0x09CF, 0x8000),
        ("sub", 0x07C9, 0x07A4, 0x0000),
        ("mul", 0x8001, 0x3C00, 0x8000),
        ("mul", 0x049D, 0x39C5, 0x0000),
        ("fsub_abs", 0x0001, 0x8400, 0x0400),
        ("max", 0x0000, 0x0001, 0x0001),
        ("min", 0x0000, 0x8001, 0x8001),
        ("max", 0x0000, 0x8001, 0x0000),
    ],
)
def test_bm1684x2_calculates_without_subnormals_of_f16_and_chooses_among_them(
    name: str, left: int, right: int, expected: int
) -> None:
    assert arithmetic(name, left, right) == expected


def test_bm1684x2_tells_bf16_from_f16_by_the_sign() -> None:
    signs = {"opd0_sign": 1, "opd1_sign": 1, "res0_sign": 1}
    described = command(chip_named("BM1684X2"), "arith.add", opd0_prec=1, opd1_prec=1, res0_prec=1, tsk_opd_num=2)
    assert described.results[0].dtype is F16
    words = [int(word) for word in BF16.encode(np.array([1.5, 2.25], np.float32))]
    total = BF16.decode(np.array([arithmetic("add", *words, **signs)], np.uint16))
    assert total.tolist() == [3.75]
    with pytest.raises(NotSimulated, match="the precision code 5 is not defined"):
        command(chip_named("BM1684X2"), "arith.add", opd0_prec=5, opd1_prec=5, res0_prec=5, tsk_opd_num=2).results  # noqa: B018


@pytest.mark.parametrize(("chip", "together"), [("BM1688", 16), ("SG2380", 32), ("BM1684X2", 16)])
def test_weights_of_16_bits_lie_in_units_of_the_channels_that_the_cube_takes(chip: str, together: int) -> None:
    shape = {"res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_c": 64, "opd0_h": 1, "opd0_w": 2}
    described = command(
        chip_named(chip), "conv.normal", **ONE_BY_ONE | {"opd1_w": 2} | shape, opd0_prec=1, opd1_prec=1, res0_prec=1
    )
    weight = described.binding.operands["weight"]
    assert isinstance(weight, View)
    memory = empty(chip_named(chip))
    memory.local(0)[0, : 128 * 2].view(np.uint16)[:] = np.arange(128)
    first_tap = memory.read(weight)[0, :, 0, 0]
    assert first_tap[:together].tolist() == list(range(together))
    assert first_tap[together] == 2 * together
