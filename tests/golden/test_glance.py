"""Verdicts at a glance: whatever is wrong closely is not right at a glance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.bounds import inner_bound, of_sizes
from tdb_dap.tools.golden.formats import TensorType, signature
from tdb_dap.tools.golden.glance import verdict_at_a_glance, verdict_within
from tdb_dap.tools.golden.library import Call, compute
from tests.golden.judging import judge
from tests.golden.test_library import op_of

QUANTISED = "!quant.uniform<i8:f32, 0.05>"
ELEMENTS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "i8": QUANTISED}
PRODUCT = '%2 = "tpu.Mul"(%0, %1) {do_relu = true, multiplier = 205 : si32, rshift = 12 : si32}'
SHAPE = (2, 3, 40, 70)
MODE = "HalfAwayFromZero"


def multiplied(element: str, seed: int) -> tuple[Call, Array, TensorType]:
    """A product of two tensors, the exact numbers and their format."""
    kind = "x".join(map(str, SHAPE)) + "x" + element
    op = op_of(f"{PRODUCT} : (tensor<{kind}>, tensor<{kind}>) -> tensor<{kind}>")
    kinds = signature(op.types)
    result = kinds[1][0]
    assert result is not None
    random = np.random.default_rng(seed)
    inputs = [result.stored(random.normal(0, 2, SHAPE)) for _ in range(2)]
    call = Call(op.name, tuple(inputs), op.attributes, *kinds)
    return call, compute(call)[0], result


def to_another_neighbour(exact: Array, kind: TensorType) -> Array:
    """The number on the other side of each."""
    near, steps = kind.stored(exact), kind.step(exact)
    return np.where(near > exact, near - steps, np.where(near < exact, near + steps, near))


def cut_off(exact: Array, kind: TensorType) -> Array:
    steps = kind.step(exact)
    return np.trunc(exact / steps) * steps


@pytest.mark.parametrize("element", ELEMENTS)
@given(
    seed=st.integers(0, 2**32 - 1),
    share=st.floats(0, 1),
    fault=st.sampled_from([to_another_neighbour, cut_off]),
    is_in_one_part=st.booleans(),
)
def test_a_share_of_wrong_roundings_has_one_verdict(
    element: str, seed: int, share: float, fault: Callable[[Array, TensorType], Array], is_in_one_part: bool
) -> None:
    call, exact, kind = multiplied(ELEMENTS[element], seed)
    given_, wrong = kind.stored(exact), fault(exact, kind)
    if is_in_one_part:
        count = int(share * exact.size)
        given_.reshape(-1)[:count] = wrong.reshape(-1)[:count]
    else:
        given_ = np.where(np.random.default_rng(seed).random(SHAPE) < share, wrong, given_)
    judge(op_of(f"{PRODUCT} : (none, none) -> none"), call, {0: given_})


@pytest.mark.parametrize("element", ["f16", "bf16", "i8"])
def test_what_is_rounded_well_is_right_without_a_bound_and_the_rest_needs_one(element: str) -> None:
    call, exact, kind = multiplied(ELEMENTS[element], 1)
    assert verdict_at_a_glance(kind.stored(exact), exact, kind, MODE) == "quantisation"
    assert verdict_at_a_glance(exact, exact, kind, MODE) == "exact"
    wrong = to_another_neighbour(exact, kind)
    assert verdict_at_a_glance(wrong, exact, kind, MODE) == ""
    none, wide = np.zeros(SHAPE), 8 * kind.step(exact)
    assert verdict_within(wrong, exact, none, kind, MODE) == ""
    assert verdict_within(wrong, exact, wide, kind, MODE) == "quantisation", "sums inside of it may have been rounded"
    own = inner_bound(call, 0, exact, kind, lambda: of_sizes(call, 0, exact))
    assert verdict_within(kind.stored(exact), exact, own, kind, MODE) == "quantisation"


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 65504.0, -65504.0])
def test_numbers_at_the_end_of_a_format_are_looked_at_closely(number: float) -> None:
    call, exact, kind = multiplied("f16", 1)
    given_ = kind.stored(exact)
    exact[0, 1, 2, 3] = given_[0, 1, 2, 3] = number
    assert verdict_at_a_glance(given_, exact, kind, MODE) == ""
    assert verdict_within(given_, exact, np.zeros(SHAPE), kind, MODE) == ""
    assert call.result is not None
