"""Metrics and limits on arrays whose distance is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import BY_NAME
from tdb_dap.engine.reference.comparison import compare
from tdb_dap.engine.reference.metrics import measure
from tdb_dap.engine.reference.tolerance import Tolerance, Tolerances
from tdb_dap.errors import BadInput


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def test_known_distances() -> None:
    found = measure(np.array([3.0, 0.0], np.float32), np.array([3.0, 4.0], np.float32))
    assert found.cosine == pytest.approx(9 / 15)
    assert found.euclidean == pytest.approx(1 - 4 / math.sqrt(9 + 4))
    # The error is 0 and -4, the signal 3 and 4; both without their mean.
    assert found.sqnr == pytest.approx(10 * math.log10(0.5 / 8))
    assert (found.max_abs, found.max_rel, found.bad_share) == (4.0, 1.0, 0.5)


def test_the_bad_elements_are_placed() -> None:
    expected = image(1, 4, 5, 6)
    actual = expected.copy()
    actual[0, 3, 1, 5] += 1
    actual[0, 2, 4, 2] += 9
    found = measure(actual, expected)
    assert found.first_bad == (0, 2, 4, 2)
    assert found.first_bad_per_axis == (0, 2, 1, 2)
    assert found.worst == (0, 2, 4, 2)
    assert found.bad_count == 2
    assert (found.channel_axis, found.worst_channel) == (1, 2)


@pytest.mark.parametrize(
    ("dtype", "step"), [("f32", 2.0**-23), ("f16", 2.0**-10), ("bf16", 2.0**-7), ("f8e4m3", 2.0**-3)]
)
def test_steps_of_the_stored_format(dtype: str, step: float) -> None:
    expected = np.array([1.0, 4.0, 0.0], np.float32)
    actual = expected + np.array([3 * step, 0, 0], np.float32)
    assert measure(actual, expected, dtype=BY_NAME[dtype]).max_ulp == 3
    assert measure(actual * 4, expected * 4, dtype=BY_NAME[dtype]).max_ulp == 3


def test_steps_of_quantised_integers_are_units_of_the_scale() -> None:
    expected = np.array([0.5, 1.0], np.float32)
    assert measure(expected + np.float32(0.25), expected, dtype=BY_NAME["si8"], scale=0.125).max_ulp == 2


def test_numbers_that_are_none_agree_only_with_their_like() -> None:
    expected = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert measure(expected.copy(), expected).equal
    for wrong in ([0, np.inf, -np.inf, 1], [np.nan, -np.inf, -np.inf, 1], [np.nan, np.inf, -np.inf, np.nan]):
        found = measure(np.array(wrong, np.float32), expected)
        assert found.broken
        assert found.max_abs == math.inf
        assert Tolerance(cosine=-1, euclidean=-9, channel=None).complaints(found)


def test_one_bad_channel_is_not_lost_in_the_whole() -> None:
    expected = image(1, 512, 4, 4)
    expected[0, 17] *= 0.05
    actual = expected.copy()
    actual[0, 17] *= -1
    result = compare("x", actual, expected, Tolerance())
    assert result.cosine > 0.99
    assert result.euclidean > 0.99
    assert any(text.startswith("channel 17 euclidean") for text in result.complaints)


def test_limits_by_format_and_name() -> None:
    limits = Tolerances.parse(["0.9,0.8", "f16:cosine=0.7", "conv*:ulp=2,maxAbs=1", "conv1:ulp=5"], ["skip*", "a[0]"])
    assert limits.of("a", "f32") == Tolerance(cosine=0.9, euclidean=0.8)
    assert limits.of("a", "f16").cosine == 0.7
    assert (limits.of("conv2", "f16").ulp, limits.of("conv1", "f16").ulp) == (2, 5)
    assert limits.of("conv1", None).max_abs == 1
    assert limits.excepts("skipped")
    assert limits.excepts("a[0]")
    assert not limits.excepts("conv1")


@pytest.mark.parametrize("text", ["", "cosine", "cosine=much", "f16:0.9", "speed=3"])
def test_what_is_no_limit_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadInput, match="limits are cosine, euclidean") as error:
        Tolerances.parse([text])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_abs": 1e-4}, "max difference"),
        ({"ulp": 10}, "ULP"),
        ({"sqnr": 90}, "SQNR"),
        ({"bad_share": 0.0}, "share of bad elements"),
    ],
)
def test_each_limit_says_what_is_beyond_it(limits: dict[str, float], words: str) -> None:
    expected = image(1, 8, 8, 8)
    actual = expected.copy()
    actual[0, 1, 2, 3] += 0.01
    dtype = BY_NAME["f32"]
    assert compare("x", actual, expected, Tolerance(), dtype).verdict == "pass"
    result = compare("x", actual, expected, Tolerance(**limits), dtype)
    assert [text.startswith(words) for text in result.complaints] == [True]
