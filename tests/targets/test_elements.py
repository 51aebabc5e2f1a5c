"""Element-wise work in the kernel: the words that NumPy gives, for every format, mode and place of the operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import elements, float32
from tdb_dap.targets.arithmetic.halves import FLUSHED_F16
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.rounding import convert
from tdb_dap.targets.arithmetic.stored import Stored, Value
from tdb_dap.targets.families import arithmetic as op
from tdb_dap.targets.families import gather as gather_family
from tdb_dap.targets.families import special
from tdb_dap.targets.kernel.constants import Operator, Reciprocal
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.semantics import SEMANTICS, execute
from tdb_dap.targets.semantics.registry import Operation
from tests.loops import each
from tests.targets.test_sums import numbers

pytestmark = pytest.mark.skipif(not kernel.is_built, reason="the C kernel is not built")

FLOATS = [F32, F16, BF16]
WHOLE = [SI8, UI8, SI16, UI16, SI32, UI32]
SHAPES = [(1, 1, 1, 1), (2, 3, 5, 7), (1, 4, 1, 600), (1, 3, 700, 1), (3, 1, 1, 2)]


@pytest.fixture(params=kernel.widths(), autouse=True)
def lanes(request: pytest.FixtureRequest) -> Iterator[int]:
    kernel.choose_width(request.param)
    yield request.param
    kernel.choose_width(kernel.widths()[-1])


class Fields:
    """The fields of a command that its semantics ask for."""

    def __init__(self, **values: int) -> None:
        self.__dict__.update({"sub": 0, "opd2_n_str": 0, "sym_range": 0, "opd2_const": 0, "opd2_addr": 0, **values})


def both(compute: Callable[[], Array | tuple[Array, ...]], as_words: bool = False) -> Array:
    """The kernel's words, which are NumPy's."""
    results = []
    for on in (True, False):
        with kernel.switched(on), np.errstate(all="ignore"):
            found = np.ascontiguousarray(compute())
            results.append(found.view(np.uint32) if as_words else found)
    assert results[0].dtype == results[1].dtype
    np.testing.assert_array_equal(results[0], results[1])
    return results[0]


def words(dtype: DType, shape: tuple[int, ...], kind: str, seed: int) -> Array:
    """Stored words. Floats as in the tests of sums, with subnormals and all borders; whole numbers: any."""
    random = np.random.default_rng(seed)
    if not dtype.is_float:
        found = random.integers(0, 1 << 8 * dtype.itemsize, shape, np.uint64).astype(dtype.bits_dtype)
        found[random.random(shape) < 0.1] = 1 << 8 * dtype.itemsize - 1
        return found
    if kind == "any":
        return random.integers(0, 1 << 8 * dtype.itemsize, shape, np.uint64).astype(dtype.bits_dtype)
    return dtype.bits_of(numbers(shape, dtype, kind, seed).astype(dtype.numpy))


def placed(bits: Array, how: str) -> Array:
    """The same words where they are otherwise: in lanes, turned round, or every second one of a row."""
    if how == "plain":
        return bits
    n, c, h, w = bits.shape
    if how == "lanes":
        memory = np.zeros((c, n * h * w + 13), bits.dtype)
        found = np.lib.stride_tricks.as_strided(
            memory, bits.shape, (h * w * bits.itemsize, memory.strides[0], w * bits.itemsize, bits.itemsize)
        )
    elif how == "turned":
        found = np.zeros((w, h, c, n), bits.dtype).transpose(3, 2, 1, 0)
    else:
        found = np.zeros((n, c, h, 2 * w), bits.dtype)[..., ::2]
    found[...] = bits
    return found


def operation(values: dict[str, Value], dtype: DType, rules: Rules, **fields: int) -> Operation:
    shape = next(iter(values.values())).bits.shape
    return Operation(values, {"result": dtype}, {"result": shape}, Fields(**fields), rules)  # type: ignore[arg-type]


PLACES = ["plain", "lanes", "turned", "apart"]


@each("kind", ["plain", "tiny", "huge", "special", "any"])
@each("dtype", FLOATS)
@each("sub", [op.ADD, op.SUB, op.MUL, op.MAX, op.MIN])
def test_arithmetic_of_floats(sub: int, dtype: DType, kind: str) -> None:
    for number, shape in enumerate(SHAPES):
        how = PLACES[(number + sub) % len(PLACES)]
        left = Value(placed(words(dtype, shape, kind, number), how), dtype)
        for turn, right in enumerate(
            (
                Value(placed(words(dtype, shape, kind, 50 + number), how), dtype),
                Value(words(dtype, (1, 1, 1, 1), kind, number), dtype, is_constant=True),
                Value(words(dtype, (1, shape[1], 1, 1), kind, 70 + number), dtype),
            )
        ):
            for flushes, target in ((False, dtype), (True, dtype), (bool(number % 2), FLOATS[(turn + number) % 3])):
                rules = Rules(channel_group=16, flushes_halves=flushes)
                x = operation({"left": left, "right": right}, target, rules, sub=sub)
                both(partial(SEMANTICS["arith", sub], x))


@each("kind", ["plain", "tiny", "huge", "special", "any"])
@each("dtype", [*FLOATS, FLUSHED_F16])
def test_newton_steps(dtype: DType, kind: str) -> None:
    """Quotients and reciprocals of roots: every count of steps, every rule for special numbers."""
    stored = F16 if dtype is FLUSHED_F16 else dtype
    for number, shape in enumerate(SHAPES):
        how = PLACES[number % len(PLACES)]
        a, b = (
            float32.operand(stored.widen(placed(words(stored, shape, kind, 90 + 2 * number + side), how)), dtype)
            for side in range(2)
        )
        for steps in range(1, 5):
            both(partial(float32.reciprocal_sqrt, b, steps, dtype), as_words=True)
            for rule in Reciprocal:
                both(partial(float32.divide, a, b, steps, dtype, rule), as_words=True)


@each("dtype", [*FLOATS, FLUSHED_F16])
def test_quotients_of_words(dtype: DType) -> None:
    """A command's quotients: every count of steps, every rule, one number or a channel of them as the divisor."""
    stored = F16 if dtype is FLUSHED_F16 else dtype
    for number, (rule, shape) in enumerate(product(Reciprocal, SHAPES)):
        kind = ("plain", "tiny", "huge", "special", "any")[number % 5]
        left = Value(placed(words(stored, shape, kind, number), PLACES[number % len(PLACES)]), dtype)
        for divisor in (shape, (1, shape[1], 1, 1), (1, 1, 1, 1)):
            right = Value(words(stored, divisor, kind, 30 + number), dtype)
            rules = Rules(channel_group=16, reciprocal=rule)
            x = operation({"left": left, "right": right}, dtype, rules, sub=op.DIVIDE, opd2_n_str=number % 4)
            both(partial(SEMANTICS["arith", op.DIVIDE], x))


@each("mode", range(6))
@each("sub", [op.ADD, op.SUB, op.MUL, op.MAX, op.MIN, op.ADD_SATURATE, op.SUB_SATURATE, op.MUL_SATURATE])
def test_arithmetic_of_whole_numbers(sub: int, mode: int) -> None:
    random = np.random.default_rng(sub * 31 + mode)
    for number, shape in enumerate(SHAPES):
        for third in (None, None, 0, -3, 5, -20, "channel", "element"):
            a, b, target = (WHOLE[i] for i in random.integers(0, len(WHOLE), 3))
            values = {
                "left": Value(placed(words(a, shape, "", number), "lanes"), a),
                "right": Value(words(b, (1, shape[1], 1, 1), "", 9 + number), b),
            }
            if isinstance(third, str):
                along = (1, shape[1], 1, 1) if third == "channel" else shape
                values["third"] = Value(random.integers(-31, 32, along).astype(np.int8).view(np.uint8), SI8)
            elif third is not None:
                values["third"] = Value(np.full((1, 1, 1, 1), third & 0xFF, np.uint8), SI8, is_constant=True)
            symmetric = int(random.integers(0, 2))
            x = operation(values, target, Rules(channel_group=16), sub=sub, opd2_n_str=mode, sym_range=symmetric)
            both(partial(SEMANTICS["arith", sub], x))


@each("at_once", [50, 1 << 20])
@each("dtype", [F32, SI8])
def test_pieces_of_a_result_are_the_whole(dtype: DType, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the shape, and where operands are broadcast; of what is no piece of the result the whole is computed."""
    monkeypatch.setattr(execute, "_AT_ONCE", at_once)
    for number, shape in enumerate([*SHAPES, (1, 2, 3, 31), (7, 1, 1, 9)]):
        for other in (shape, (1, shape[1], 1, 1), (1, 1, 1, 1), (shape[3],)):
            values = {
                "left": Value(placed(words(dtype, shape, "any", number), PLACES[number % 4]), dtype),
                "right": Value(words(dtype, other, "any", 9 + number), dtype),
            }
            x = operation(values, dtype, Rules(channel_group=16), sub=op.MUL)
            with np.errstate(all="ignore"):
                found, wanted = execute._in_parts(SEMANTICS["arith", op.MUL], x), SEMANTICS["arith", op.MUL](x)
            assert isinstance(found, np.ndarray)
            np.testing.assert_array_equal(found, np.broadcast_to(wanted, shape))


def every_word(source: DType) -> Array:
    """All words of up to 16 bits; of 32 bits many, those whose lower half decides how they are rounded among them."""
    every = np.arange(1 << min(16, 8 * source.itemsize), dtype=np.uint64)
    if source.itemsize < 4:
        return every.astype(source.bits_dtype).reshape(1, 1, -1, 1)
    halves = np.array([0, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint64)
    ties = every[::7] << np.uint64(16) | halves[every[::7] % 8]
    drawn = np.random.default_rng(1).integers(0, 1 << 32, 5_000, np.uint64)
    small = F32.encode(np.arange(-1000, 1000, dtype=np.float32) / 8).astype(np.uint64)
    return np.concatenate([ties, drawn, small]).astype(source.bits_dtype).reshape(1, 1, -1, 1)


@each("source", [*FLOATS, *WHOLE])
def test_conversions(source: DType) -> None:
    stored = every_word(source)
    for target in (*FLOATS, *WHOLE):
        for mode in range(6):
            try:
                both(partial(convert, placed(stored, "apart" if mode % 2 else "plain"), source, target, mode))
            except NotSimulated as error:
                assert "defined" in str(error)  # noqa: PT017


@each("kind", ["plain", "tiny", "huge", "special", "any"])
@each("dtype", FLOATS)
def test_series(dtype: DType, kind: str) -> None:
    for number, shape in enumerate(SHAPES):
        for flushes in (False, True):
            values = {
                "input": Value(placed(words(dtype, shape, kind, number), "lanes"), dtype),
                "coefficients": Value(
                    words(dtype, (1, max(1, shape[1] - 1), 1, 5), kind if number % 2 else "plain", 3), dtype
                ),
            }
            x = operation(values, dtype, Rules(channel_group=16, flushes_halves=flushes), sub=special.TAYLOR)
            both(partial(SEMANTICS["sfu", special.TAYLOR], x))


def gathered(dtype: DType, index: DType, chosen: Array, **flags: int) -> Array:
    """What a gather from rows of 100 words takes, by the kernel and by NumPy."""
    sub = gather_family.GATHERS[0]
    sizes = {"res0_n": 2, "res0_c": 3, "opd0_h": 1, "opd0_w": 100, "opd2_const": 0, "opd3_const": 0}
    fields = Fields(**{**sizes, **flags}, opd2_addr=0x12345678, sub=sub)
    x = Operation(
        {"data": Value(words(dtype, (1, 3, 1, 100), "any", 1), dtype), "index": Value(placed(chosen, "turned"), index)},
        {"result": dtype},
        {"result": (2, 3, 1, 40)},
        fields,  # type: ignore[arg-type]
        Rules(channel_group=16),
    )
    return both(lambda: SEMANTICS["sg", sub](x))


@each("index", [UI8, UI16])
@each("dtype", [UI8, F16, F32])
def test_what_an_index_chooses(dtype: DType, index: DType) -> None:
    chosen = words(index, (2, 3, 1, 40), "", 2) % 100
    plain = gathered(dtype, index, chosen)
    chosen[0, 1, 0, 7] = (1 << 8 * index.itemsize) - 1  # stands for no element
    filled = gathered(dtype, index, chosen, opd2_const=1, opd3_const=1)
    assert filled[0, 1, 0, 7] == 0x12345678 & (1 << 8 * dtype.itemsize) - 1
    assert np.flatnonzero(filled != plain).tolist() in ([47], [])


@each("limits", [0, 1])
@each("index", [UI8, UI16])
def test_an_index_beyond_its_data_is_refused(index: DType, limits: int) -> None:
    """The vendor's simulator ends with an assertion, but for an index of all ones that stands for none."""
    chosen = words(index, (2, 3, 1, 40), "", 2) % 100
    chosen[1, 2, 0, 3] = 100
    with pytest.raises(NotSimulated, match="index 100 is beyond the 100 elements that it chooses from"):
        gathered(F32, index, chosen, opd2_const=1, opd3_const=limits)


def test_what_is_not_read_by_the_kernel_is_left_to_numpy() -> None:
    half = Stored(np.zeros((1, 1, 1, 3), np.uint16), F16)
    assert elements.floats(Operator.ADD, half, half, SI8) is None
    assert elements.integers(Operator.ADD, half, half, Steps(0), 2) is None
    with kernel.switched(False):
        assert elements.floats(Operator.ADD, half, half, F16) is None
