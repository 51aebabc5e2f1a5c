"""Plans: a command executed by the plan of its form has the same result as by itself, at any address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.bench import ddr_of_bench
from scripts.robustness.fuzz_simulator.contents import Random, words
from scripts.robustness.fuzz_simulator.mutation import BENCH_BYTES, mutate
from scripts.robustness.fuzz_simulator.seeds import Case, made_seeds, seeds_of
from tdb_dap.engine.hardware.dtypes import F32, SI32, Array
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated, TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import elements, sums
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.stored import Place, Unplanned
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.families.convolution import TABLE_REGISTER, ZERO_REGISTER
from tdb_dap.targets.kernel.constants import Operator
from tdb_dap.targets.plans.forms import NoRegisters, PlacelessFields
from tdb_dap.targets.plans.known import Known
from tdb_dap.targets.plans.plan import Plans
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.tools.opening import open_debugger
from tests.targets.commands import chip_named, encoded

DATA = Path(__file__).parents[1] / "data"
NAMES = sorted(chip.name for chip in chips().values() if isinstance(chip, Chip) and chip.rules is not None)
LARGEST = 1 << 16
CASES = 50
"""Forms that are drawn for each chip."""
PRODUCTS = {f"mm2.{how}" for how in ("nn", "nt", "tt")} | {
    "conv.normal",
    "mm.normal",
    "pord.avgpooling",
    "pord.depthwise",
}
"""Of those that sum up products."""
L2_BYTES = 1 << 20
"""Of L2 that is compared."""

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="plans call the C kernel")


class Bench:
    """A chip with memory that commands are executed on, twice from the same bytes."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.data = np.zeros(BENCH_BYTES, np.uint8)
        self.memory = Memory(chip.geometry, 1, [Region(ddr_of_bench(chip.geometry), self.data, "bench")])
        chip.fill_tables(self.memory, "firmware")

    def all(self) -> list[Array]:
        return [self.memory.local(0), self.memory.static(0), self.memory.l2()[:L2_BYTES], self.data]

    def kept(self) -> list[Array]:
        return [part.copy() for part in self.all()]

    def restore(self, kept: list[Array]) -> None:
        for part, old in zip(self.all(), kept, strict=True):
            part[...] = old

    def fill(self, description: Description, random: Random, kind: str) -> None:
        for view in (*description.reads, *description.results):
            if isinstance(view, View):
                self.memory.write(view, words(random, view.dtype, view.shape, kind))


@cache
def seeds(name: str, most: int = 2) -> list[Case]:
    """At most so many commands of each mnemonic."""
    chip = chip_named(name).leniently()
    found = seeds_of(chip, [DATA, DATA / "chips"])
    every = {**found, **{f"{key} made": cases for key, cases in made_seeds(chip, found).items()}}
    return [case for _, cases in sorted(every.items()) for case in cases[:most]]


def moved(case: Case, random: Random) -> Case:
    """The same command with other addresses: near each other, the same, odd, anywhere in the lane or beyond memory."""
    names = {shared: own for own, shared, _ in case.chip.named_fields(case.kind)}
    values = case.chip.fields(case.kind, case.descriptor)
    own = [name for name in names if name.endswith(("_addr", "_addr_l32", "_addr_h32"))]
    chosen = [name for name in own if random.integers(2)]
    changed: dict[str, int] = {}
    lane = case.chip.geometry.lane_bytes
    for name in chosen:
        before = values[names[name]]
        other = values[names[own[random.integers(len(own))]]]
        byte = [
            before % lane,
            other % lane,
            before % lane + 64,
            before % lane ^ 16,
            other % lane + 4,
            before % lane + 1,
        ]
        byte += [int(random.integers(lane // 64)) * 64, lane - 64]
        changed[names[name]] = before // lane * lane + byte[random.integers(len(byte))] % lane
    return Case(case.chip, case.kind, case.chip.encode(case.kind, case.descriptor, changed), case.registers)


def drawn(
    name: str, count: int, seed: int, only: AbstractSet[str], most: int = 2
) -> Iterator[tuple[Case, Random, str]]:
    random = np.random.default_rng(seed)
    every, start = seeds(name, most), ddr_of_bench(chip_named(name).geometry)
    every = [every[number] for number in random.permutation(len(every))]  # not one family after the other
    every = [case for case in every if not only or case.name in only]
    for number in range(count):
        case = every[number % len(every)]
        kind = ("finite", "extreme", "subnormal", "special")[random.integers(4)]
        try:
            yield mutate(case, random, kind, start, stay=False) if number >= len(every) else case, random, kind
        except (TdbError, KeyError, AttributeError, ValueError):
            continue


def walk(
    name: str,
    count: int,
    seed: int,
    only: AbstractSet[str] = frozenset(),
    most: int = 2,
    by_kernel: bool = True,
    change: Callable[[Case, Random], Case] = lambda case, random: case,
) -> Counter[str]:
    """Plan each form at one command and carry out others; how often that was done, or left to the usual way.

    ``only``: commands of these names; none: all; ``most``: see ``seeds``; ``by_kernel``: whether the C kernel helps the
    commands that no plan executes, too; ``change``: makes another command of each.
    """
    bench, seen = Bench(chip_named(name).leniently()), Counter[str]()
    chip = bench.chip
    for plain, random, kind in drawn(name, count, seed, only, most):
        case = change(plain, random)
        try:
            views = [view for view in (*case.description.reads, *case.description.results) if isinstance(view, View)]
            if not views or max(view.size for view in views) > LARGEST:
                continue
            bench.fill(case.description, random, kind)
            kept = bench.kept()
            chip.execute(case.description, bench.memory)
        except (TdbError, AttributeError, KeyError, ValueError):
            seen["refused"] += 1
            continue
        for other in (case, moved(case, random), moved(case, random)):
            bench.restore(kept)
            with suppress(TdbError, AttributeError, KeyError, ValueError):
                bench.fill(other.description, random, kind)
            before = bench.kept()
            done = chip.carry_out(other.kind, other.descriptor, 0, bench.memory, other.registers)
            planned = bench.kept()
            bench.restore(before)
            if not done:
                seen["left"] += 1
                assert all(np.array_equal(a, b) for a, b in zip(planned, before, strict=True)), other.description
                if other is case:
                    break
                continue
            with kernel.switched(by_kernel):
                chip.execute(other.description, bench.memory)  # what a plan does, no command of its form refuses
            seen["done"] += 1
            seen[case.name] += 1
            seen[f"{case.name} {case.description.reads[0].dtype.name}"] += 1
            for expected, found in zip(bench.all(), planned, strict=True):
                differing = np.flatnonzero(expected.reshape(-1) != found.reshape(-1))
                assert not differing.size, (name, case.name, other.description, differing[:8])
    return seen


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_does_what_the_command_does(name: str) -> None:
    seen = walk(name, CASES, seed=0)
    assert seen["done"] > 2, seen


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_does_so_in_parts(name: str) -> None:
    with kernel.shared(3, worth=1):
        seen = walk(name, CASES, seed=0)
    assert seen["done"] > 0, seen


@pytest.mark.parametrize("name", ["BM1684X", "BM1684X2", "BM1688", "BM1690"])
def test_products_that_can_be_interrupted(name: str) -> None:
    """Each is cut into as many parts as there can be."""
    with kernel.shared(3, worth=1, part=1):
        seen = walk(name, CASES, seed=1, only=PRODUCTS)
    assert sum(seen[each] for each in PRODUCTS) > 10, seen


def test_every_product_of_a_chip_without_subnormals_of_f16() -> None:
    seen = walk("BM1684X2", 100, seed=4, only=PRODUCTS | {"pord.maxpooling"}, most=99, by_kernel=False)
    wanted = {f"{name} {dtype}" for name in ("conv.normal", "pord.maxpooling", "mm2.nn") for dtype in ("f16", "bf16")}
    assert wanted | {"mm2.nn si8", "mm2.nn ui8", "mm2.nt si8", "mm2.nt f16"} <= set(seen), seen


def seed_of(name: str, command: str, dtype: str, most: int = 2, **fields: int) -> Case:
    """A command of a model with a first operand of a format, and these fields in place of its own."""
    chip = chip_named(name).leniently()
    plain = next(
        case for case in seeds(name, most) if case.name == command and case.description.reads[0].dtype.name == dtype
    )
    names = {shared: own for own, shared, _ in chip.named_fields(plain.kind)}
    descriptor = chip.encode(plain.kind, plain.descriptor, {names[field]: value for field, value in fields.items()})
    return Case(chip, plain.kind, descriptor, plain.registers)


def test_an_image_with_negative_zeros_around_it() -> None:
    """They are the words that a window takes there, and no other zeros."""
    case = seed_of("BM1688", "pord.maxpooling", "f16", opd0_up_pad=1, opd0_dn_pad=1, opd3_addr=0x8000)
    bench = Bench(case.chip)
    image, (result,) = case.description.reads[0], case.description.results
    assert isinstance(image, View)
    assert isinstance(result, View)
    bench.memory.write(image, np.full(image.shape, 0x8000, np.uint16))
    before = bench.kept()
    case.chip.execute(case.description, bench.memory)
    expected = bench.memory.read(result).copy()
    assert set(expected.reshape(-1).tolist()) == {0x8000}
    bench.restore(before)
    assert case.chip.carry_out(case.kind, case.descriptor, 0, bench.memory, case.registers)
    np.testing.assert_array_equal(bench.memory.read(result), expected)


def test_registers_are_part_of_a_form_and_may_hold_an_address() -> None:
    """The zero point of a fused convolution is in one register, where its table is in another."""
    own = seed_of("BM1688", "conv.normal", "si4", opd0_prec=0, opd1_prec=0, res0_prec=0)
    case = Case(own.chip, own.kind, own.descriptor, {TABLE_REGISTER: 0x10000})
    chip, bench = case.chip, Bench(case.chip)
    command = case.kind, case.descriptor, 0, bench.memory
    assert not chip.carry_out(*command), "registers that nobody knows"
    table = case.description.binding.operands["requantisation"]
    for shift in (0, 64):
        registers = {key: value + shift * (value == table.address) for key, value in case.registers.items()}
        other = Case(chip, case.kind, case.descriptor, registers)
        assert other.description.binding.operands["requantisation"].address == table.address + shift
        random = np.random.default_rng(shift)
        bench.fill(other.description, random, "finite")
        words = random.integers(1, 1 << 20, table.shape).astype(np.uint32)
        words[..., 1] = 5 << 16 | 0x100 - 22  # a zero point, and a shift to the right
        bench.memory.write(other.description.binding.operands["requantisation"], words)
        before = bench.kept()
        chip.execute(other.description, bench.memory)
        expected = bench.kept()
        bench.restore(before)
        assert chip.carry_out(*command, registers)
        assert all(np.array_equal(a, b) for a, b in zip(bench.all(), expected, strict=True))
    with_zero_point = {**case.registers, ZERO_REGISTER: 3}
    assert not chip.carry_out(*command, with_zero_point), "it would be computed without the zero point"


def test_a_bias_that_differs_between_lanes_is_left_to_the_usual_way() -> None:
    """What the chip makes of that is not known, and the command is refused."""
    case = seed_of("BM1690", "mm2.nn", "f16", res0_c=2)
    bench, bias = Bench(case.chip), case.description.binding.operands["bias"]
    command = case.kind, case.descriptor, 0, bench.memory, case.registers
    numbers = np.zeros(bias.shape, bias.dtype.bits_dtype)
    bench.memory.write(bias, numbers)
    assert case.chip.carry_out(*command)
    numbers[0, 1, 0, 0] = 1
    bench.memory.write(bias, numbers)
    before = bench.kept()
    assert not case.chip.carry_out(*command)
    assert all(np.array_equal(a, b) for a, b in zip(bench.all(), before, strict=True))
    with pytest.raises(NotSimulated, match="differ between lanes"):
        case.chip.execute(case.description, bench.memory)


def test_a_rectified_convolution_of_halves_has_a_plan() -> None:
    case = seed_of("BM1690", "conv.normal", "f16", relu=1)
    chip, bench, random = case.chip, Bench(case.chip), np.random.default_rng(3)
    bench.fill(case.description, random, "finite")
    before = bench.kept()
    assert chip.carry_out(case.kind, case.descriptor, 0, bench.memory, case.registers)
    planned = bench.kept()
    bench.restore(before)
    chip.execute(case.description, bench.memory)
    for expected, kept in zip(bench.all(), planned, strict=True):
        np.testing.assert_array_equal(kept, expected)
    (result,) = case.description.results
    assert isinstance(result, View)
    numbers = result.dtype.widen(bench.memory.read(result))
    assert numbers.min() == 0 < numbers.max()


@pytest.mark.parametrize("scale", [0.5, -0.25, 1.5e-3, 3e38, 1e-40, np.inf, np.nan])
def test_integer_sums_times_a_float(scale: float) -> None:
    """In every round mode; by 0.5 every other sum is half way between two results."""
    (word,) = F32.encode(np.array([scale])).tolist()
    for mode in range(6):
        for name, relu in (("mm2.nn", 0), ("mm2.nt", 1)):
            plain = seed_of("BM1684X2", name, "si8", opd2_n_str=mode, relu=relu, opd2_const=1, opd2_addr=1)
            case = Case(plain.chip, plain.kind, plain.descriptor, {**plain.registers, TABLE_REGISTER: word})
            assert_planned_as_defined(case)


def assert_planned_as_defined(case: Case) -> None:
    """NumPy leaves the memories that the plan leaves."""
    bench = Bench(case.chip)
    bench.fill(case.description, np.random.default_rng(0), "finite")
    before = bench.kept()
    assert case.chip.carry_out(case.kind, case.descriptor, 0, bench.memory, case.registers)
    planned = bench.kept()
    bench.restore(before)
    with kernel.switched(False), np.errstate(all="ignore"):
        case.chip.execute(case.description, bench.memory)
    for expected, kept in zip(bench.all(), planned, strict=True):
        np.testing.assert_array_equal(kept, expected)


def test_a_bias_that_float32_does_not_hold() -> None:
    own = {"rq": 0, "res0_prec": 4, "opd2_const": 1, "opd2_addr": (1 << 25) + 1}
    assert_planned_as_defined(seed_of("BM1684X2", "mm2.nn", "si8", **own))


def test_what_networks_are_made_of_has_plans() -> None:
    """Commands without one are described each time, and nothing is done beside them."""
    usual = {"arith.add", "arith.cast", "conv.normal", "mm.normal", "mm2.nn", "pord.avgpooling", "pord.depthwise"}
    moved_words = {"dma.tensor", "dma.matrix", "tsbc.l_bc", "tsbc.cw_ts"}
    chosen = {"cmp.sel_gt", "cmp.sel_eq", "sg.pe_s_gather_d1coor", "sg.pe_s_gather_hzd", "quant.rq1", "quant.dq0"}
    wanted = usual | moved_words | chosen
    assert wanted <= set(walk("BM1684X", 120, seed=0, only=wanted))
    older = {"arith.add", "arith.max", "arith.min", "conv", "dma", "lut", "mdscalar.mul", "mdsfu.fp32_to_int"}
    older |= {"mdsfu.taylor", "mm.mul", "pord", "pord.maxpooling"}
    assert older <= set(walk("BM1684", 80, seed=0, only=older))


def requantised(chip: Chip, input: int, result: int, **more: int) -> tuple[int, bytes, Description]:
    """int32 to int8 by one multiplier, 64 channels of 16 x 16."""
    fields = {"res0_n": 1, "res0_c": 64, "res0_h": 16, "res0_w": 16, "opd0_prec": 4, "opd0_sign": 1, "res0_prec": 0}
    fields |= {"opd2_sign": 1, "opd1_const": 1, "opd1_addr": 3, "opd2_addr": 0xFE, "opd2_n_str": 1, **more}
    kind, descriptor = encoded(chip, "quant.rq1", **fields, opd0_addr=input, res0_addr=result)
    return kind, descriptor, chip.describe(kind, descriptor, 0, {})


@pytest.mark.parametrize(
    ("input", "result", "by_plan"),
    [
        (0, 4096, True),
        (0, 0, True),  # narrower words over wider ones: written after they were read
        (64, 0, False),  # a plan would write over what it has not read yet
        (0, 64, False),
        (0, 4097, True),  # bytes may be anywhere
        (2, 4096, False),  # words of 32 bits may not
    ],
)
def test_a_result_near_its_operand(input: int, result: int, by_plan: bool) -> None:
    chip = chip_named("BM1684X").leniently()
    kind, descriptor, description = requantised(chip, input, result)
    numbers = np.random.default_rng(0).integers(-(1 << 9), 1 << 9, (1, 64, 16, 16)).astype(np.int32).view(np.uint32)
    bench = Bench(chip)
    (view,) = [operand for operand in description.reads if isinstance(operand, View)]
    bench.memory.write(view, numbers)
    before = bench.kept()
    chip.execute(description, bench.memory)
    expected = bench.kept()
    bench.restore(before)
    assert chip.carry_out(kind, descriptor, 0, bench.memory) == by_plan
    if by_plan:
        assert all(np.array_equal(a, b) for a, b in zip(bench.all(), expected, strict=True))


def test_a_function_that_takes_the_place_of_another_ends_its_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    chip = chip_named("BM1684X").leniently()
    kind, descriptor, _ = requantised(chip, 0, 4096)
    bench = Bench(chip)
    assert chip.carry_out(kind, descriptor, 0, bench.memory)
    monkeypatch.setitem(SEMANTICS, ("quant", 1), lambda x: np.zeros(x.shape, x.dtype.bits_dtype))
    assert not chip.carry_out(kind, descriptor, 0, bench.memory)


def test_without_the_kernel_there_are_no_plans() -> None:
    chip = chip_named("BM1684X").leniently()
    kind, descriptor, _ = requantised(chip, 0, 4096)
    bench = Bench(chip)
    with kernel.switched(False):
        assert not chip.carry_out(kind, descriptor, 0, bench.memory)
    assert chip.carry_out(kind, descriptor, 0, bench.memory)


def test_a_place_that_does_not_exist_is_left_to_the_usual_way() -> None:
    chip = chip_named("BM1684X").leniently()
    kind, descriptor, _ = requantised(chip, 0, chip.geometry.lane_bytes - 64 + 63 * chip.geometry.lane_bytes)
    assert not chip.carry_out(kind, descriptor, 0, Bench(chip).memory)


def test_forms_that_two_threads_meet_at_once_get_numbers_of_their_own() -> None:
    """With one number for both, one would be executed as the other."""
    entered, released = Event(), Event()

    class Slow(list[Any]):
        def append(self, form: Any) -> None:
            entered.set()
            released.wait(10)
            super().append(form)

    nobody: Any = None
    known = Known(nobody, nobody)
    known.plans = Slow()
    numbers: dict[bytes, int] = {}
    threads = [Thread(target=known.add, args=(numbers, key, None)) for key in (b"one", b"other")]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    threads[1].join(0.1)  # it waits for the first one
    released.set()
    for thread in threads:
        thread.join()
    assert sorted(numbers.values()) == [0, 1]


def test_a_function_that_looks_at_numbers_has_no_plan() -> None:
    where = np.zeros((1, 2, 3, 4), np.uint32)
    place = Place(where, F32, 0)
    assert place.shape == (1, 2, 3, 4)
    with pytest.raises(Unplanned):
        _ = place.bits
    with pytest.raises(Unplanned):
        _ = place.numbers
    with pytest.raises(Unplanned):
        _ = place.of(SI32).numbers
    planned: Any = elements.floats(Operator.ADD, place.stored, place.stored, F32)
    with pytest.raises(TypeError):
        np.where(planned, 1, 0)


@pytest.mark.parametrize("amount", [-128, -63, 63])
def test_sums_that_are_shifted_beyond_64_bits_have_no_plan(amount: int) -> None:
    with pytest.raises(Unplanned, match="shift"):
        sums._numbers(Steps(0, amount=amount))


def test_a_function_that_asks_for_an_address_or_a_register_has_no_plan() -> None:
    _, _, description = requantised(chip_named("BM1684X").leniently(), 0, 4096)
    fields = PlacelessFields(description.binding.fields, frozenset({"opd0_addr"}), {}, NoRegisters())
    assert fields.res0_n == 1
    with pytest.raises(Unplanned):
        _ = fields.opd0_addr
    with pytest.raises(Unplanned):
        fields.has("opd0_addr")
    with pytest.raises(Unplanned):
        fields.register(32)


@pytest.mark.parametrize("context", sorted(path.parent for path in DATA.glob("*/*/compilation.bmodel"))[::4], ids=str)
def test_a_model_leaves_the_same_memories_with_plans(context: Path) -> None:
    inputs = context / "input.npz"
    debugger = open_debugger(str(context), str(inputs) if inputs.exists() else None, history_limit=0)
    machine = debugger.machine

    def run() -> list[bytes]:
        machine.reset()
        debugger.run()
        memory = machine.memory
        return [memory.local(core).tobytes() for core in range(memory.cores)] + [memory.l2().tobytes()]

    found = [run() for _ in range(3)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Plans, "carry_out", lambda *_: False)
        patched.setattr(Plans, "carry_out_some", lambda _, commands, first, *more: first)
        expected = run()
    assert found == [expected] * 3
