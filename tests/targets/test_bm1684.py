"""BM1684: tables of L2, weights of averages, and forms that are refused instead of guessed."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.target import Description
from tdb_dap.errors import BadAccess, NotSimulated
from tdb_dap.targets.chips.bm1684 import BM1684
from tdb_dap.targets.declaration.instruction_set import Instruction
from tdb_dap.targets.semantics.bm1684.windows import average_weight
from tests.known import view_of
from tests.samples import Case, case, cases
from tests.targets import commands

LOCAL = 0x8000000


@pytest.mark.parametrize(
    ("address", "word"),
    [
        (0x300000 + 4 * 88, 0x42B00000),  # 88.0, the largest number with an exponential
        (0x300000 + 4 * 89, 0x00000000),
        (0x300400 + 4 * 1, 0x402DF854),  # e
        (0x300400 + 4 * (256 - 103), 0x00000001),  # exp(-103), the smallest subnormal
        (0x300800 + 4 * 23, 0xC2902CB3),  # -104 ln 2
        (0x300C00 + 4 * 10, 0x32D7322C),  # 1/11!, divided step by step: the exact value ends in b
        (0x300D00 + 4 * 1, 0xBF000000),  # -1/2
        (0x300F00 + 4 * 255, 0x437F0000),  # 255.0
        (0x301300 + 4 * 255, 0xBF800000),  # -1.0
        (0x301700 + 4 * 2, 0xBE2AAAAB),  # -1/3!
        (0x303800 - 4, 0x44FFE000),  # 2047.0
    ],
)
@pytest.mark.parametrize("how", ["firmware", "tdb"])
def test_l2_holds_the_tables_of_the_library(address: int, word: int, how: str) -> None:
    memory = Memory(BM1684.geometry, 1, [])
    BM1684.fill_tables(memory, how)
    assert memory.l2()[address : address + 4].view(np.uint32)[0] == word


@pytest.mark.parametrize(
    ("area", "signed", "weight"),
    [(1, False, 1), (4, False, 1), (9, False, 57), (6, False, 171), (6, True, 171 - 256), (49, False, 167)],
)
def test_averages_multiply_by_a_byte_and_shift(area: int, signed: bool, weight: int) -> None:
    assert average_weight(area, signed) == weight


def instruction(mnemonic: str) -> Instruction:
    return next(i for i in BM1684.instruction_set.instructions if i.mnemonic == mnemonic)


def described(mnemonic: str, values: Mapping[str, int]) -> Description:
    """One command."""
    form = instruction(mnemonic)
    kind = BM1684.instruction_set.instructions.index(form)
    return BM1684.describe(kind, form.encode(bytes(form.size), **values), 0, {})


def execute(mnemonic: str, values: Mapping[str, int], words: Mapping[int, int] | None = None) -> Memory:
    """One command on memories of zeros, but for ``words`` of 16 bits at offsets in lane 0."""
    memory = Memory(BM1684.geometry, 1, [Region(0, np.zeros(64, np.uint8), "activations")])
    for offset, word in (words or {}).items():
        memory.local()[0, offset : offset + 2] = np.array([word], np.uint16).view(np.uint8)
    BM1684.execute(described(mnemonic, values), memory)
    return memory


SHAPE = {"res0_n": 1, "res0_c": 2, "res0_h": 1, "res0_w": 3}
PLACES = {
    "tsk_lane_num": (1 << 64) - 1,
    "opd0_addr": LOCAL,
    "opd1_addr": LOCAL + 256,
    "res0_addr": LOCAL + 512,
    "opd2_addr": LOCAL + 640,
    "opd3_addr": LOCAL + 768,
}
FLOATS = {"opt_res0_prec": 2, "opt_opd0_prec": 2, "opt_opd1_prec": 2, "opt_opd2_prec": 2}
MOVE = {
    "pio_gdma_enable": 1,
    "src_start_addr_l32": LOCAL,
    "dst_start_addr_l32": LOCAL + 256,
    "localmem_mask_l32": 0xFFFFFFFF,
    "localmem_mask_h32": 0xFFFFFFFF,
    "direction": 3,
}
CONSTANTS = {**FLOATS, "tsk_opd_num": 3, "opd3_addr": 0, "opt_opd1_const": 1, "opt_opd2_const": 1}
WORDS = {"opt_res0_prec": 3, "opt_opd0_prec": 3, "opt_opd1_prec": 3}


def test_a_plain_sum_is_computed() -> None:
    one = 0x3F800000
    memory = execute("arith.add", {**SHAPE, **PLACES, **FLOATS, "opt_opd1_const": 1, "opd1_addr": one})
    assert (memory.local()[:2, 512:524].view(np.float32) == 1).all()


def word(memory: Memory, offset: int) -> int:
    return int(memory.local()[0, offset : offset + 2].view(np.uint16)[0])


@pytest.mark.parametrize(("signed", "expected"), [(0, 5000), (1, 62344)])
def test_mac_takes_the_old_result_for_signed_if_an_operand_is(signed: int, expected: int) -> None:
    """Recorded: 0 * 0 + 40000, shifted right by 3."""
    form = {"opt_res0_prec": 3, "opt_right_shift": 3, "opt_opd1_sign": signed}
    assert word(execute("arith.mac", {**SHAPE, **PLACES, **form}, {512: 40000}), 512) == expected


@pytest.mark.parametrize("signed", [0, 1])
def test_a_largest_byte_is_rectified_by_its_highest_bit(signed: int) -> None:
    window = {"opt_relu": 1, "opt_opd0_sign": signed, "opd0_h": 1, "opd0_w": 3, "opd1_h": 1, "opd1_w": 1}
    steps = {"res_op_x_str": 1, "res_op_y_str": 1}
    kept = [
        word(execute("pord.maxpooling", {**SHAPE, **PLACES, **window, **steps}, {0: byte}), 512) & 0xFF
        for byte in (3, 127, 128, 255)
    ]
    assert kept == [3, 127, 0, 0]


@pytest.mark.parametrize(("arithmetic", "expected"), [(1, 0xFC15), (0, 0x1C15)])
def test_a_shift_draws_in_the_sign_whatever_the_operand_says(arithmetic: int, expected: int) -> None:
    """Recorded: 0xe0ad, called unsigned, shifted right by 3."""
    form = {**WORDS, "opt_opd1_sign": 1, "opt_opd1_const": 1, "opd1_addr": 0xFFFD, "opt_shift_typ": arithmetic}
    assert word(execute("arith.shift", {**SHAPE, **PLACES, **form}, {0: 0xE0AD}), 512) == expected


@pytest.mark.parametrize("code", [2, 4])
def test_a_series_is_a_float_whatever_its_format_says(code: int) -> None:
    """Of a mutant: 0 * -1 is -0, also where the result is called an integer."""
    form = {**SHAPE, **PLACES, "opt_opd0_prec": 2, "opt_res0_prec": code, "opd1_n": 1, "opd1_addr": 0}
    assert word(execute("mdsfu.taylor", form, {2: 0xBF80}), 514) == 0x8000


def test_the_amount_of_a_shift_is_a_byte() -> None:
    """Recorded: the amount -7 stored as the word 0x00f9."""
    form = {**WORDS, "opt_opd1_const": 1, "opd1_addr": 0x00F9, "opt_shift_typ": 1}
    assert word(execute("arith.shift", {**SHAPE, **PLACES, **form}, {0: 4467}), 512) == 4467 >> 7


@pytest.mark.parametrize(
    ("mnemonic", "values", "text"),
    [
        ("arith.add", {**FLOATS, "opt_winograd": 1}, "winograd = 1"),
        ("arith.add", {**FLOATS, "opd0_h_shift": 2}, "opd0_h_shift = 2"),
        ("arith.add", {**FLOATS, "opt_res_add": 1}, "adds to the old result"),
        ("arith.mul", WORDS, "products of 16-bit integers"),
        ("arith.shift", {}, "shifts of si8 into"),
        ("arith.add", {**WORDS, "res0_n": 3, "short_opd0_str": 3}, "packed numbers with a batch stride of zero"),
        ("arith.divide", WORDS, "division of integers"),
        ("arith.mac", {}, "mac into 8 bits"),
        ("arith.max", {**WORDS, "opt_res0_prec": 0}, "the maximum or minimum of si16 as si8"),
        ("arith.mul", {**FLOATS, "short_opd1_str": 2}, "operands of storage code 2"),
        ("mdlinear.mac", {**FLOATS, "tsk_opd_num": 3, "opd3_addr": 0}, "a linear function per channel"),
        ("mdlinear.mac", {**CONSTANTS, "opt_opd1_prec": 0}, "a linear function with constants of other formats"),
        ("mdscalar.max", FLOATS, "mdscalar.max is not simulated yet"),
        ("lut", {"opt_res0_prec": 2, "opd1_addr": 0, "opd1_h": 8}, "a lookup of ui8 into f32"),
        ("lut", {**FLOATS, "opd1_addr": 0, "opd1_h": 6}, "a lookup in a table of 64 words"),
        ("dma", {"localmem_mask_l32": 1}, "a move that leaves out lanes"),
        ("dma.lrn_shift", {}, "a shift of channels that adds to nothing"),
        ("dma.lrn_shift", {"acc_write_enable": 1, "src_data_format": 2}, "channels of other numbers than float32"),
    ],
)
def test_what_nobody_has_seen_is_refused(mnemonic: str, values: dict[str, int], text: str) -> None:
    base = MOVE if mnemonic.startswith("dma") else {**SHAPE, **PLACES, "opt_opd0_sign": 1, "opt_opd1_sign": 1}
    with pytest.raises(NotSimulated, match=text):
        execute(mnemonic, {**base, **values})


LANE = BM1684.geometry.lane_bytes
SHIFTED = {
    **MOVE,
    "acc_write_enable": 1,
    "lrn_shift_num": 1,
    "src_start_addr_l32": LOCAL + LANE,
    **{f"{side}_{axis}size": 2 if axis == "c" else 1 for side in ("src", "dst") for axis in "nchw"},
}


def test_a_shift_of_channels_adds_to_what_is_there() -> None:
    """As LRN does, which sums the squares of channels next to each one; numbers below the normal ones count as 0."""
    memory = Memory(BM1684.geometry, 1, [Region(0, np.zeros(64, np.uint8), "activations")])
    lanes = memory.local()
    for lane, (source, old) in enumerate([(9, 1), (2, 0.5), (1e-39, 3)]):
        lanes[lane, :4] = np.array([source], np.float32).view(np.uint8)
        lanes[lane, 256:260] = np.array([old], np.float32).view(np.uint8)
    BM1684.execute(described("dma.lrn_shift", SHIFTED), memory)
    assert memory.local()[:3, 256:260].copy().view(np.float32).ravel().tolist() == [3, 0.5, 3]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"direction": 2}, "it shifts channels, and not within local memory"),
        ({"dst_start_addr_l32": LOCAL + 124}, "it shifts channels between bytes 0 and 124 of lanes, by 128 of each"),
    ],
)
def test_a_shift_of_channels_is_within_local_memory_and_between_other_bytes(values: dict[str, int], text: str) -> None:
    right = commands.command(BM1684, "dma.lrn_shift", **{**SHIFTED, "dst_start_addr_l32": LOCAL + 128})
    assert text in BM1684.illegal(commands.command(BM1684, "dma.lrn_shift", **{**SHIFTED, **values}))
    assert not BM1684.illegal(right)


@pytest.mark.parametrize("code", [0, 1, 2, 3])
@pytest.mark.parametrize("mnemonic", ["mdsfu.fp32_to_int", "mdscalar.add", "lut", "pord.maxpooling", "conv"])
def test_a_result_is_aligned_whatever_its_storage_code_says(mnemonic: str, code: int) -> None:
    """Of all but tensor arithmetic."""
    fields = {**SHAPE, **PLACES, **FLOATS, "opd0_h": 2, "opd0_w": 3, "opd1_h": 1, "opd1_w": 1, "short_opd1_str": 3}
    strides = {"short_res0_str": code, "res0_n_str": 640, "res0_c_str": 320, "res0_h_str": 9, "res0_w_str": 1}
    made, wanted = (
        described(mnemonic, values).binding.results["result"].strides for values in ({**fields, **strides}, fields)
    )
    assert made == wanted


def test_a_linear_function_takes_steps_that_have_no_effect() -> None:
    """The compiler leaves those of the command before in it (a GRU of BM1684)."""
    one, two = 0x3F800000, 0x40000000
    numbers = {"opt_opd1_const": 1, "opd1_addr": one, "opt_opd2_const": 1, "opd2_addr": two, "tsk_opd_num": 3}
    steps = {"opd0_c_str": 1, "res0_n_str": 7, "short_res0_str": 3}
    memory = execute("mdlinear.mac", {**SHAPE, **PLACES, **FLOATS, **numbers, **steps, "opd3_addr": 0})
    assert (memory.local()[:2, 512:524].view(np.float32) == 1).all()


def test_tensor_arithmetic_stores_with_the_steps_of_the_command() -> None:
    strides = {"short_res0_str": 3, "res0_n_str": 640, "res0_c_str": 320, "res0_h_str": 9, "res0_w_str": 1}
    views = described("arith.add", {**SHAPE, **PLACES, **FLOATS, **strides}).binding.results
    assert views["result"].strides == (640, 320, 9, 1)


def test_a_table_that_is_not_there_is_not_read_as_zeros() -> None:
    with pytest.raises(BadAccess, match="L2 has no bytes 4,194,304 to 4,195,327"):
        execute("lut", {**SHAPE, **PLACES, **FLOATS, "opd1_addr": 0x400000, "opd1_h": 8})


def test_an_instruction_without_semantics_is_named() -> None:
    with pytest.raises(NotSimulated, match="decompress is not simulated yet"):
        execute("decompress", {**SHAPE, **PLACES})


def test_operands_are_shown_although_the_vendor_shows_none() -> None:
    program = tdb_dap.open(case("toy_bm1684_int8").path).program
    convolution = next(c for c in program.commands if c.name == "conv")
    assert convolution.operand_roles == ("input", "weight", "bias")
    assert convolution.tdb_asm == f"%{convolution.token} = convolution neuron(%D{convolution.dep})"
    assert "weight = %R" in convolution.asm


PACKED_CASES = [case for case in cases("*", "bm1684") if not case.is_dynamic]


@pytest.mark.parametrize("recorded", PACKED_CASES, ids=lambda recorded: recorded.name)
def test_fields_are_those_of_the_vendors_decoder(recorded: Case) -> None:
    program = tdb_dap.open(recorded.path).program
    with lzma.open(recorded.path / "regs.jsonl.xz", "rt") as lines:
        for command, line in zip(program.commands, lines, strict=True):
            theirs = dict(json.loads(line))
            assert command.fields.items() <= theirs.items(), command
            assert all(name.startswith(("reserved", "rsvd")) for name in theirs.keys() - command.fields.keys())


@pytest.mark.parametrize("recorded", PACKED_CASES, ids=lambda recorded: recorded.name)
def test_what_a_command_changed_lies_in_its_result_views(recorded: Case) -> None:
    """The vendor's debugger shows no operands here: the ranges of local memory that it saw change prove ours."""
    program = tdb_dap.open(recorded.path).program
    lane_bytes = program.target.geometry.lane_bytes
    seen = 0
    for command, entry in zip(program.commands, recorded.trace, strict=True):
        changed = entry.get("lmem")
        if not changed or not changed.get("words8"):
            continue
        views = [view for view in map(view_of, command.results) if view.space is Space.LOCAL]
        ranges = [piece for view in views for piece in view.byte_ranges()]
        assert ranges, command
        lanes = {start // lane_bytes for start, _ in ranges}
        assert changed["lanes"] <= len(lanes), command
        # The recorder compared words of eight bytes.
        first = min(start % lane_bytes for start, _ in ranges) // 8 * 8
        last = max((stop - 1) % lane_bytes for _, stop in ranges) // 8 * 8 + 8
        assert first <= changed["lo"], command
        assert changed["hi"] <= last, command
        seen += 1
    assert seen > 3
