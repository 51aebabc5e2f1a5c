"""Constants of networks compared with the weights of their layers: right ones, each kind of fault, and near misses."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import F8E4M3, Array
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.weights.constants import QuantisedConstant, Reader
from tests.command_line import tdb_dap
from tests.samples import DATA, case
from tests.triage_case import Compiled
from tests.weights.networks import LANES, Edit, checked, copied, lanes, spoil

INT8, LATER, F8 = "bm1684x_int8asym", "bm1688_int8", "bm1690_f8e4m3"
PRODUCT, FILTER = "b_Relu_merge", "c_Conv_merge"
"""Constants of the two layers: factors and biases in front of the numbers."""

CHANNEL = 66
"""A channel in the second row of lanes."""

SHAPES = {INT8: (64, 12, 64), LATER: (32, 8, 8), F8: (64, 4, 4)}
"""Lanes, bytes of the factors of an output, bytes from those of one output to the next in the lane."""

WIDTHS = {INT8: 64, LATER: 32, F8: 64}
"""Bytes of a channel of the product, whose four inputs are padded."""


class Place:
    """Where things of a channel are in the bytes of a constant."""

    def __init__(self, name: str, channel: int, numbers: int) -> None:
        count, size, stride = SHAPES[name]
        slots = -(-72 // count)
        self.lane, self.slot = channel % count, channel // count
        self.factors = self.slot * stride
        self.bias = (slots - 1) * stride + size + 4 * self.slot
        start = (self.slot - slots) * numbers
        self.own = slice(start, start + numbers or None)

    def number(self, words: Array, first: int, kind: str) -> Array:
        """One number of four bytes."""
        return words[self.lane, first : first + 4].view(kind)


@pytest.mark.parametrize("name", [INT8, LATER, F8])
def test_every_constant_of_a_right_network_is_proven(name: str) -> None:
    report = checked(lanes(name))
    assert (report.faults, report.untraced) == ([], [])
    assert (report.proven, report.numbers) == (4, 72 * 4 + 72 + 72 * 9 + 72)


def test_tables_are_no_weights(tmp_path: Path) -> None:
    report = checked(Compiled.into(tmp_path).context)
    assert (report.faults, report.proven) == ([], 6)
    assert {one.why for one in report.untraced} == {"a table, not a weight"}


def _scaled(place: Place, name: str, factor: float) -> Edit:
    def edit(words: Array) -> None:
        kind = "<f4" if name == F8 else "<i4"
        number = place.number(words, place.factors, kind)
        number[0] = number[0] * factor

    return edit


def _turned(place: Place, name: str) -> Edit:
    """The other sign for all numbers of a channel."""

    def edit(words: Array) -> None:
        numbers = words[place.lane, place.own]
        numbers[...] = numbers ^ (0x80 * (numbers != 0)) if name == F8 else (-numbers.view(np.int8)).view(np.uint8)

    return edit


def _exchanged(place: Place) -> Edit:
    def edit(words: Array) -> None:
        words[[place.lane, place.lane + 1], place.own] = words[[place.lane + 1, place.lane], place.own]

    return edit


def _one(place: Place, name: str) -> Edit:
    def edit(words: Array) -> None:
        numbers = words[place.lane, place.own]
        largest = F8E4M3.decode(numbers) if name == F8 else numbers.view(np.int8).astype(np.float32)
        numbers[int(np.abs(largest).argmax())] = 0

    return edit


def _offset(place: Place, name: str) -> Edit:
    def edit(words: Array) -> None:
        number = words[place.lane, place.factors + (8 if name == INT8 else 6) :][:2].view("<i2")
        number += 2

    return edit


def _biased(place: Place, name: str) -> Edit:
    def edit(words: Array) -> None:
        number = place.number(words, place.bias, "<f4" if name == F8 else "<i4")
        number += 500

    return edit


@pytest.mark.parametrize("name", [INT8, LATER, F8])
def test_faults_of_a_network_are_named(name: str) -> None:
    product, windows = Place(name, CHANNEL, WIDTHS[name]), Place(name, CHANNEL, 9)
    faults: list[tuple[str, Edit, str, str, int | None]] = [
        (PRODUCT, _scaled(product, name, 3), "w1", r"scale 3(\.\d+)? times as large as right", CHANNEL),
        (FILTER, _exchanged(windows), "w2", f"channels {CHANNEL} and {CHANNEL + 1} are exchanged", CHANNEL),
        (PRODUCT, _one(product, name), "w1", "one number", CHANNEL),
        (PRODUCT, _turned(product, name), "w1", "the sign is wrong", CHANNEL),
        (PRODUCT, _biased(product, name), "b1", "one number", None),
        (FILTER, _scaled(windows, name, 3), "w2", r"scale 3(\.\d+)? times as large as right", CHANNEL),
    ]
    if name != F8:
        faults.append((PRODUCT, _offset(product, name), "w1", r"zero point of its results off by \+2", None))
    for constant, edit, tensor, says, channel in faults:
        report = checked(lanes(name), constant, edit)
        assert [fault.tensor for fault in report.faults] == [tensor], (name, says, report)
        fault = report.faults[0]
        assert re.fullmatch(says, fault.guess), fault.guess
        assert fault.channel == channel
        if channel is None:
            assert fault.first == (CHANNEL,)
        else:
            assert fault.first[0] == CHANNEL
            assert f"; first at channel {CHANNEL}, [{CHANNEL}, " in fault.summary


@pytest.mark.parametrize("name", [INT8, LATER, F8])
def test_a_factor_that_is_rounded_otherwise_is_right(name: str) -> None:
    place = Place(name, CHANNEL, WIDTHS[name])
    assert checked(lanes(name), PRODUCT, _scaled(place, name, 1 + 1e-6)).faults == []


def test_the_neighbouring_level_is_right_only_for_a_weight_between_two() -> None:
    """Of all numbers of a channel the one that is nearest to the middle of two levels may be the other one."""
    weights = read_npz(LANES / "lanes_top_f32_all_weight.npz")["w2"].reshape(72, 9)
    scale = np.abs(weights).max(1, keepdims=True) / 127
    exact = weights / scale
    distance = np.abs(np.abs(exact - np.rint(exact)) - 0.5)
    for flat, is_right in (
        (int(distance.argmin()), True),
        (int(np.where(np.abs(exact) < 120, distance, 0).argmax()), False),
    ):
        channel, index = divmod(flat, distance.shape[1])
        place = Place(INT8, channel, 9)
        up = 1 if exact[channel, index] > np.rint(exact[channel, index]) else -1

        def edit(words: Array, place: Place = place, index: int = index, up: int = up) -> None:
            words[place.lane, place.own].view(np.int8)[index] += up

        faults = checked(lanes(INT8), FILTER, edit).faults
        assert [fault.guess for fault in faults] == ([] if is_right else ["one number"])
    assert distance.min() < 0.003


def test_weights_from_the_command_line(tmp_path: Path) -> None:
    context = copied(INT8, tmp_path)
    right = tdb_dap("weights", context)
    assert (right.returncode, right.stdout.splitlines()[0].split(" (")[0]) == (0, "4 constants"), right.stderr
    spoil(context, PRODUCT, _scaled(Place(INT8, CHANNEL, WIDTHS[INT8]), INT8, 3))
    wrong = tdb_dap("weights", context)
    assert wrong.returncode == 1
    assert f"wrong: w1 in lanes: scale 3 times as large as right; first at channel {CHANNEL}, " in wrong.stdout
    (found,) = json.loads(tdb_dap("weights", context, "--json").stdout)["wrong"]
    assert (found["tensor"], found["channel"], found["wrong"]) == ("w1", CHANNEL, 4)
    (tmp_path / "lanes_top_f32_all_weight.npz").unlink()
    lacking = tdb_dap("weights", context)
    assert (lacking.returncode, lacking.stdout) == (2, "")
    assert "the weights of its layers are not there; give the context directory" in lacking.stderr


def test_a_network_without_weights_has_nothing_to_compare() -> None:
    done = tdb_dap("weights", DATA / "contexts" / "joined_bm1684_f32")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(": the model has no weights, so there is nothing to compare\n")


def test_other_weights_of_the_layers_may_be_given(tmp_path: Path) -> None:
    arrays = read_npz(LANES / "lanes_top_f32_all_weight.npz")
    write_npz(tmp_path / "w.npz", {**arrays, "w2": -arrays["w2"]})
    done = tdb_dap("weights", lanes(F8), "--reference", tmp_path / "w.npz")
    assert (done.returncode, "wrong: w2 in lanes: the sign of 72 channels is wrong" in done.stdout) == (1, True)
    done = tdb_dap("weights", lanes(F8), "--reference", LANES / "lanes_top_f32_all_weight.npz")
    assert done.returncode == 0, done.stdout


def test_a_language_model_needs_its_reference() -> None:
    done = tdb_dap("weights", LANES.parent / "llm" / "qwen2_bm1684x_bf16")
    assert done.returncode == 2
    assert "a language model; give --reference HF_DIR" in done.stderr


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    return Compiled.into(tmp_path / "toy")


def _rolled(words: Array) -> None:
    words[:, 64:] = np.roll(words[:, 64:], 3, 0)


def test_check_names_the_wrong_weight_of_the_first_wrong_op(toy: Compiled) -> None:
    spoil(toy.context, "conv8_Conv_merge", _rolled)
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz")
    for options in (("--blame",), ("--mode", "standalone"), ()):
        first = tdb_dap(*check, *options).stdout.splitlines()[0]
        assert "is conv8_Conv (tpu.Conv2D at line 23): weight w6 is wrong: channels rotated by 3; first at" in first
    assert tdb_dap(*check, "--report", toy.folder / "report.json").returncode == 1
    report = json.loads((toy.folder / "report.json").read_text("utf-8"))
    assert (len(report["op_weights"]["wrong"]), report["op_weights"]["untraced"]) == (1, 0)


def test_check_says_where_the_weights_are_right(toy: Compiled) -> None:
    """A command is wrong: it reads its operands as unsigned, and the weights stay."""
    changed = toy.folder / "changed.bmodel"
    assert tdb_dap("patch", toy.context, "-o", changed, "--set", "B56.opd1_sign=0").returncode == 0
    (toy.context / "compilation.bmodel.xz").unlink()
    changed.rename(toy.context / "compilation.bmodel")
    done = tdb_dap("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--blame")
    assert "first at fault is conv8_Conv (tpu.Conv2D at line 23): its weights are right; " in done.stdout


def test_a_check_without_a_difference_reads_no_weights(toy: Compiled) -> None:
    path = toy.folder / "report.json"
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--report", path)
    assert tdb_dap(*check).returncode == 0
    report = json.loads(path.read_text("utf-8"))
    assert report["op_weights"] is None


def test_triage_names_the_wrong_weight(toy: Compiled) -> None:
    spoil(toy.context, "conv8_Conv_merge", _rolled)
    done = tdb_dap("triage", toy.context)
    sentence = next(line for line in done.stdout.splitlines() if line.startswith("bug: "))
    assert "the bmodel does not compute what its own op says" in sentence
    assert "; weight w6 is wrong: channels rotated by 3; first at channel 0, " in sentence


def test_triage_names_the_weight_that_lowering_has_spoilt(toy: Compiled) -> None:
    """Stage tpu has another weight than stage top; the bmodel's is that of stage top."""
    toy.change(toy.tpu_weights, "conv8_Conv_filter_i8", lambda array: -array)
    toy.interpret()
    done = tdb_dap("triage", toy.context)
    sentence = next(line for line in done.stdout.splitlines() if line.startswith("bug: conv8_Conv"))
    assert "weight w6 is wrong" not in sentence
    assert "its weights are right" not in sentence


def onnx_of(folder: Path, **changes: Array) -> Path:
    """An ONNX model with the weights of LANES as initialisers."""
    onnx = pytest.importorskip("onnx")
    arrays = {**read_npz(LANES / "lanes_top_f32_all_weight.npz"), **changes}
    stored = [onnx.numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in arrays.items()]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1,)) for name in ("x", "y")]
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    path = folder / "lanes.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", ends[:1], ends[1:], stored)), str(path))
    return path


def test_initialisers_of_the_onnx_model_are_compared_with_the_layers(tmp_path: Path) -> None:
    arrays = read_npz(LANES / "lanes_top_f32_all_weight.npz")
    other = arrays["b2"].copy()
    other[5] += 1
    done = tdb_dap("weights", lanes(INT8), "--reference", onnx_of(tmp_path, b2=other))
    assert (done.returncode, "wrong: b2 in lanes.mlir: one number; first at 5: " in done.stdout) == (1, True)
    transposed = arrays["w1"].reshape(72, 4).T.copy()
    assert tdb_dap("weights", lanes(INT8), "--reference", onnx_of(tmp_path, w1=transposed)).returncode == 0


@pytest.fixture
def nibbles(tmp_path: Path) -> Path:
    """The context of a product in 4 bits; the weights of its layer are those that its numbers stand for."""
    shutil.copytree(case("gemm2d_bm1684x_w4f16").path, tmp_path / "gemm2d_bm1684x_w4f16")
    shutil.copyfile(LANES / "gemm2d.mlir", tmp_path / "gemm2d.mlir")
    program = open_program(tmp_path / "gemm2d_bm1684x_w4f16")
    assert isinstance(program, CompiledProgram)
    mlir = program.source.mlir
    assert mlir is not None
    reader = Reader("gemm2d", program.stage, program.bmodel.bytes_of(program.stage.weights, "the weights"))
    arrays = {name: np.zeros(shape, np.float32) for name, shape in (("w1_fix", (128, 72)), ("w2", (72,)))}
    for op in mlir.ops.values():
        packed = reader.quantised(op)[0] if op.name == "tpu.A16MatMul" else None
        if isinstance(packed, QuantisedConstant):
            arrays["w1_fix"][:, : len(packed.levels)] = packed.numbers().T
        words = reader.words(op) if op.name == "top.Weight" else None
        match = re.match(r"(w1_fix|w2)_\d+_(\d+)_f16", op.location)
        if words is not None and match is not None:
            rest = words.numbers.reshape(-1, words.shape[-1]) if match[1] == "w1_fix" else words.numbers.reshape(-1)
            arrays[match[1]][..., int(match[2]) : int(match[2]) + words.shape[-1]] = rest
    write_npz(tmp_path / "gemm2d_top_f32_all_weight.npz", arrays)
    return tmp_path / "gemm2d_bm1684x_w4f16"


def test_a_product_in_4_bits_is_proven_with_the_outputs_that_stay_in_floats(nibbles: Path) -> None:
    report = checked(nibbles)
    assert (report.faults, report.untraced) == ([], [])
    assert report.numbers == 128 * 72 + 72


_SIGNS = np.tile(np.array([0, 0x80], np.uint8), 8)
"""The upper byte's first bit of each of eight halves."""


@pytest.mark.parametrize(
    ("constant", "edit", "says"),
    [
        ("gemm3_Gemm_0_1_reordered", lambda words: words.__iadd__(1), r"zero points of \d+ groups off by \+1"),
        ("gemm3_Gemm_0_uint", lambda words: words.__setitem__((5, 3), words[5, 3] ^ 8), "one number"),
        ("gemm3_Gemm_0_uint", lambda words: words.__setitem__([4, 9], words[[9, 4]]), "rows 4 and 9 are exchanged"),
        ("w1_fix_1_64_f16", lambda words: words.__setitem__(np.s_[:], words ^ _SIGNS), "the sign is wrong"),
    ],
)
def test_faults_of_a_product_in_4_bits_are_named(nibbles: Path, constant: str, edit: Edit, says: str) -> None:
    faults = checked(nibbles, constant, edit).faults
    assert [fault.tensor for fault in faults] == ["w1_fix"]
    assert re.fullmatch(says, faults[0].guess), faults[0].guess
