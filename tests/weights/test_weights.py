"""Constants of language models compared with the weights before conversion: right ones, and each kind of fault."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.sources import sources_of
from tdb_dap.tools.weights.checking import Wanted, WeightsReport, check_weights, judge
from tdb_dap.tools.weights.constants import (
    Constant,
    FloatConstant,
    QuantisedConstant,
    ScaledConstant,
    Words,
    constants,
)
from tdb_dap.tools.weights.proving import proved_float, proved_quantised
from tests.command_line import tdb_dap
from tests.llm.models import LLAMA, QWEN, copied, float_model


def checked(folder: Path, change: Callable[[Constant], None] = lambda constant: None) -> WeightsReport:
    """The report on a model whose words ``change`` has edited in memory."""
    model, reference = read_model(folder), FloatModel(float_model(folder).folder, room=read_model(folder).room)
    bmodel = Bmodel(model.context.bmodel)
    bmodel.payload.flags.writeable = True
    for constant in constants(bmodel, model.nets, sources_of(model)):
        change(constant)
    return check_weights(bmodel, model.nets, sources_of(model), reference)


def on(tensor: str, edit: Callable[[Constant], None]) -> Callable[[Constant], None]:
    """An edit of the constants of one tensor."""

    def change(constant: Constant) -> None:
        if constant.tensor == f"model.layers.{tensor}":
            edit(constant)

    return change


def words(of: Words) -> Array:
    """The stored words, to write into."""
    held: Array = of.held.view(np.uint16) if of.type == "bf16" else of.held
    return held.reshape(of.shape)


def quantised(constant: Constant) -> QuantisedConstant:
    assert isinstance(constant, QuantisedConstant)
    return constant


def numbers(constant: Constant) -> Array:
    assert isinstance(constant, FloatConstant)
    return words(constant.words)


def zero_points(by: int) -> Callable[[Constant], None]:
    def edit(constant: Constant) -> None:
        zeros = quantised(constant).zero_words
        assert zeros is not None
        words(zeros)[...] += np.uint8(by % 256)

    return edit


def scale(row: int, group: int, factor: float) -> Callable[[Constant], None]:
    def edit(constant: Constant) -> None:
        of = quantised(constant).scale_words
        lanes = of.shape[0]
        place = (row % lanes, row // lanes, group)
        number = np.float32(of.numbers[place] * factor)
        words(of)[place] = number.view(np.uint32) >> 16

    return edit


def levels(edit: Callable[[Array], None]) -> Callable[[Constant], None]:
    def change(constant: Constant) -> None:
        edit(words(quantised(constant).packed))

    return change


def floats(edit: Callable[[Array], None]) -> Callable[[Constant], None]:
    return lambda constant: edit(numbers(constant))


def swap(rows: Array) -> None:
    rows[[2, 5]] = rows[[5, 2]]


def assign(right: Callable[[Array], Array]) -> Callable[[Array], None]:
    def edit(array: Array) -> None:
        array[...] = right(array.copy())

    return edit


def test_a_scale_that_a_shift_makes_may_be_larger_than_its_numbers_need() -> None:
    """BM1684 has no multiplier, and a large bias may leave few bits of the levels."""
    wanted = np.random.default_rng(5).uniform(-1, 1, (1, 64)).astype(np.float32)
    scales = np.full((1, 1), 3 / 127, np.float32)
    free = ScaledConstant("net", "matrix", 1, np.rint(wanted / scales), scales, 0.0, 0.5, 127.0)
    assert (fault := proved_quantised(free, wanted)) is not None
    assert fault.guess == "scales are larger than their groups need"
    shifted = replace(free, is_shift=True)
    assert proved_quantised(shifted, wanted) is None
    wrong = replace(shifted, levels=shifted.levels * np.where(np.arange(64) == 9, -1, 1))
    assert (fault := proved_quantised(wrong, wanted)) is not None
    assert (fault.guess, fault.first) == ("one number", (0, 9))


@pytest.mark.parametrize("folder", [QWEN, LLAMA], ids=["bf16", "w4"])
def test_every_constant_of_a_right_model_is_proven(folder: Path) -> None:
    report = checked(folder)
    assert (report.faults, report.untraced) == ([], [])
    assert report.proven > 20


QUANTISED: tuple[tuple[str, Callable[[Constant], None], str], ...] = (
    ("zero points", zero_points(1), r"zero points of \d+ groups off by \+1"),
    ("zero points", zero_points(-2), r"zero points of \d+ groups off by -2"),
    ("scale", scale(3, 0, 3.0), r"scale (3|3\.01|2\.99) times as large as right"),
    ("rotated", levels(assign(lambda q: np.roll(q, 3, 0))), "rows rotated by 3"),
    ("far", levels(assign(lambda q: np.roll(q, 5, 1))), "numbers of each row rotated by 10"),
    ("shifted", levels(assign(lambda q: np.roll(q, 1, 1))), "numbers of each row rotated by 2"),
    ("exchanged", levels(swap), "rows 2 and 5 are exchanged"),
    ("nibbles", levels(assign(lambda q: q >> 4 | q << 4)), "neighbouring numbers are exchanged"),
    ("one", levels(lambda q: q.__setitem__((4, 7), q[4, 7] ^ 8)), "one number"),
    ("sign", scale(9, 0, -1.0), "the sign is wrong"),
)


def test_faults_of_quantised_weights_are_named() -> None:
    for name, edit, says in QUANTISED:
        faults = checked(LLAMA, on("1.self_attn.q_proj.weight", edit)).faults
        assert [fault.tensor for fault in faults] == ["model.layers.1.self_attn.q_proj.weight"] * len(faults), name
        assert faults, name
        assert_says(faults[0].guess, says)


def assert_says(text: str, pattern: str) -> None:
    assert re.fullmatch(pattern, text), f"{text!r} is not {pattern!r}"


def test_where_a_scale_is_wrong() -> None:
    fault = checked(LLAMA, on("0.mlp.down_proj.weight", scale(21, 0, 3.0))).faults[0]
    assert (fault.first[0] % 32, fault.group) == (21, 0)
    assert fault.wrong <= 64
    assert f"; first at row {fault.first[0]}, column " in fault.summary


SWAPPED = [0, 4, 2, 3, 1, *range(5, 64)]

FLOATS: tuple[tuple[str, Callable[[Constant], None], str], ...] = (
    ("input_layernorm.weight", floats(assign(lambda w: np.roll(w, 5, -1))), "numbers rotated by 5"),
    ("input_layernorm.weight", floats(lambda w: w.__setitem__((0, 0, 9), 0x4000)), "one number"),
    ("mlp.up_proj.weight", floats(assign(lambda w: w ^ 0x8000)), "the sign is wrong"),
    ("mlp.up_proj.weight", floats(assign(lambda w: w + 0x80)), "2 times as large"),
    ("mlp.up_proj.weight", floats(assign(lambda w: w * 0)), "zeros"),
    ("mlp.up_proj.weight", floats(assign(lambda w: w[:, SWAPPED])), "columns 1 and 4 are exchanged"),
    ("mlp.up_proj.weight", floats(lambda w: w.__setitem__((0, 3), 0x7FC0)), "NaN or infinity"),
    ("self_attn.o_proj.weight", floats(assign(lambda w: w ^ 0x8000)), "the sign is wrong"),  # it is square
    ("self_attn.q_proj.weight", floats(assign(lambda w: w + 0x80)), "2 times as large"),
    ("self_attn.q_proj.bias", floats(assign(lambda w: np.roll(w, -2, -1))), "numbers rotated by -2"),
)


def test_faults_of_float_weights_are_named() -> None:
    for tensor, edit, says in FLOATS:
        faults = checked(QWEN, on(f"1.{tensor}", edit)).faults
        assert len(faults) == 1, (tensor, says)
        assert_says(faults[0].guess, says)


def test_the_last_bit_of_a_float_number_is_enough() -> None:
    change = floats(lambda w: w.__setitem__((0, 0, 0), w[0, 0, 0] ^ 1))
    faults = checked(QWEN, on("0.mlp.gate_proj.weight", change)).faults
    assert [fault.wrong for fault in faults] == [1]


@pytest.mark.parametrize(("distance", "is_wrong"), [(0.5, False), (0.75, True)])
def test_a_level_may_be_half_a_step_from_its_weight(distance: float, is_wrong: bool) -> None:
    """The level next to the nearest one is right where the weight is in the middle, and else one wrong number."""
    source = float_model(LLAMA).weights.read("model.layers.0.mlp.up_proj.weight")

    def change(constant: Constant) -> None:
        matrix = quantised(constant)
        if matrix.rows or matrix.columns:
            return
        steps = (source[: len(matrix.levels)] - matrix.numbers()) / np.repeat(matrix.scales, matrix.group, 1)
        inside = (matrix.levels > 0) & (matrix.levels < 15)
        row, column = np.argwhere(inside & (np.abs(1 - np.abs(steps) - distance) < 0.004))[0]
        level = int(matrix.levels[row, column] + np.sign(steps[row, column]))
        packed = words(matrix.packed)
        shift = 4 * (column % 2)
        packed[row, column // 2] = packed[row, column // 2] & ~(15 << shift) & 255 | level << shift

    faults = checked(LLAMA, on("0.mlp.up_proj.weight", change)).faults
    assert [fault.guess for fault in faults] == ["one number"] * is_wrong


@pytest.mark.parametrize("folder", [QWEN, LLAMA], ids=["bf16", "w4"])
def test_another_tensor_in_the_place_of_one(folder: Path) -> None:
    names = [f"model.layers.0.mlp.{name}" for name in ("gate_proj", "up_proj")]
    kept: dict[str, list[tuple[Words, ...]]] = {name: [] for name in names}

    def keep(constant: Constant) -> None:
        if isinstance(constant, QuantisedConstant) and constant.zero_words is not None:
            held: tuple[Words, ...] = (constant.packed, constant.scale_words, constant.zero_words)
        elif isinstance(constant, FloatConstant):
            held = (constant.words,)
        else:
            return
        if (name := constant.tensor.removesuffix(".weight")) in kept:
            kept[name].append(held)
            if len(kept[names[0]]) == len(kept[names[1]]):
                for one, other in zip(*(kept[name][-1] for name in names), strict=True):
                    one.held[...], other.held[...] = other.held.copy(), one.held.copy()

    faults = checked(folder, keep).faults
    assert {(fault.tensor.removesuffix(".weight"), fault.guess) for fault in faults} == {
        (names[0], f"holds {names[1]}"),
        (names[1], f"holds {names[0]}"),
    }


def test_without_sources_nothing_is_traced(tmp_path: Path) -> None:
    shutil.copyfile(next(QWEN.glob("*.bmodel.xz")), tmp_path / "m.bmodel.xz")
    done = tdb_dap("weights", tmp_path, "--reference", QWEN / "float")
    assert done.returncode == 2
    assert "not traced: embedding, " in done.stdout
    assert ": no final.mlir; convert with --debug" in done.stdout
    assert "no constant could be traced" in done.stderr


def test_from_the_command_line(tmp_path: Path) -> None:
    right = tdb_dap("weights", LLAMA, "--reference", LLAMA / "float")
    assert right.returncode == 0
    assert "numbers) are as the model before conversion has them" in right.stdout
    folder = copied(LLAMA, tmp_path)
    packed = next(folder.glob("*.bmodel.xz"))
    data = bytearray(lzma.decompress(packed.read_bytes()))
    packed.unlink()
    model = read_model(LLAMA)
    bmodel = Bmodel(model.context.bmodel)
    for constant in constants(bmodel, model.nets, sources_of(model)):
        if constant.tensor == "model.layers.0.self_attn.v_proj.weight":
            zeros = quantised(constant).zero_words
            assert zeros is not None
            start = zeros.held.__array_interface__["data"][0] - bmodel.payload.__array_interface__["data"][0]
            first = bmodel.payload_start + start
            data[first : first + zeros.held.size] = (zeros.held + 1).tobytes()
    packed.with_suffix("").write_bytes(data)
    wrong = tdb_dap("weights", folder, "--reference", LLAMA / "float", "--json")
    found = json.loads(wrong.stdout)
    assert wrong.returncode == 1
    assert {one["tensor"] for one in found["wrong"]} == {"model.layers.0.self_attn.v_proj.weight"}
    assert "off by +1" in found["wrong"][0]["guess"]


def test_parts_of_cores_and_pairs_of_scales_are_read() -> None:
    """A matrix that is cut for two cores is put together; one that is not covered is not used."""
    report = checked(LLAMA)
    cut = [name for name, parts in report.quantised.items() if len(parts) > 1]
    for name in report.quantised:
        matrix = report.dequantised(name)
        assert matrix is not None
        assert np.abs(matrix - float_model(LLAMA).weights.read(name)).max() < 0.2
    if cut:
        parts = report.quantised[cut[0]]
        report.quantised[cut[0]] = [replace(parts[0]), *parts[2:]] if len(parts) > 2 else [parts[1]]
        assert report.dequantised(cut[0]) is None


def test_a_part_of_a_matrix_that_stays_in_floats_is_read_with_its_axis() -> None:
    """Outputs beyond a multiple of the lanes: columns 64 to 95 of the transposed matrix, in an axis after one of 1."""
    matrix = np.random.default_rng(2).standard_normal((96, 80)).astype(np.float32)
    rest = np.ascontiguousarray(matrix[64:].T).astype(np.float16)[None]
    held = rest.view(np.uint8).reshape(-1)
    constant = FloatConstant("n", "x.weight", 1, Words("x.weight_1_64_f16", 1, rest.shape, "f16", held, (1, 64)))
    assert proved_float(constant, matrix) is None
    for axis, start in ((1, 32), (1, 63)):
        moved = replace(constant, words=replace(constant.words, part=(axis, start)))
        assert proved_float(moved, matrix) is not None


def test_numbers_beyond_the_last_group_are_those_of_the_model() -> None:
    """A matrix of 136 columns in groups of 32: eight stay in floats, and their constant is proven apart."""
    reference = float_model(LLAMA)
    name = "model.layers.0.mlp.down_proj.weight"
    source = reference.weights.read(name)
    groups = np.round(source[:, :96] * 64) / 64
    report = WeightsReport(source=reference.weights.read)
    held = np.ascontiguousarray(np.round(source[:, :96] * 64) + 128).astype(np.uint8)
    words = Words("a", 1, held.shape, "ui8", held.view(np.uint8).reshape(-1))
    many = (len(held), 3)
    scales = Words("b", 2, many, "f32", np.full(many, 1 / 64, np.float32).view(np.uint8).reshape(-1))
    zeros = Words("c", 3, many, "ui8", np.full(many, 128, np.uint8).reshape(-1))
    report.quantised[name] = [QuantisedConstant("block_0", name, 1, 8, words, scales, zeros)]
    assert report.dequantised(name) is None, "32 columns are in no constant"
    rest = np.ascontiguousarray(source[:, 96:]).astype(np.float32)
    constant = FloatConstant(
        "block_0", name, 4, Words(f"{name}_1_96_f32", 4, rest.shape, "f32", rest.view(np.uint8).reshape(-1), (1, 96))
    )
    judge(constant, Wanted(reference), report)
    matrix = report.dequantised(name)
    assert matrix is not None
    np.testing.assert_array_equal(matrix, np.concatenate([groups, source[:, 96:]], 1))


def test_the_packed_outputs_of_a_product_that_is_cut_are_traced() -> None:
    model, reference = read_model(LLAMA), float_model(LLAMA)
    bmodel = Bmodel(model.context.bmodel)
    whole = next(
        one
        for one in constants(bmodel, model.nets, sources_of(model))
        if isinstance(one, QuantisedConstant) and (one.rows, one.columns) == (0, 0)
    )
    base = whole.tensor.removesuffix(".weight")
    for suffix, counts in (("_0", (1, 0)), ("_1", (0, 1)), ("_x", (0, 1))):
        report = WeightsReport()
        judge(replace(whole, tensor=f"{base}{suffix}.weight"), Wanted(reference), report)
        assert (report.proven, len(report.untraced)) == counts


def test_a_table_of_another_layer_is_named() -> None:
    """Converters that give every layer the rotary embedding of one of them."""
    model = read_model(QWEN)
    reference = FloatModel(float_model(QWEN).folder, room=model.room)
    first = reference.config.rotary[0]
    reference.config = replace(reference.config, rotary=(first, replace(first, frequencies=first.frequencies * 0.1)))
    report = check_weights(Bmodel(model.context.bmodel), model.nets, sources_of(model), reference)
    named = {(fault.net, fault.tensor, fault.guess) for fault in report.faults}
    assert named >= {("block_cache_1", f"rotary_{of}.weight", "holds the table of layer 0") for of in ("cos", "sin")}
    assert not any(net.endswith("_0") for net, _, _ in named)
