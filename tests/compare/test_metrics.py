"""Metrics and limits on arrays whose distance is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import BY_NAME, Array
from tdb_dap.engine.reference.comparison import Comparer, Sides, compare
from tdb_dap.engine.reference.metrics import Room, measure
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


def test_a_similarity_far_below_zero_is_no_number_to_read() -> None:
    expected = np.full(4, -1, np.float32)
    found = compare("x", np.nextafter(-expected, expected), expected, Tolerance())
    assert found.euclidean < -1e6
    assert ", euclidean < -1, max difference 2, " in found.summary
    assert "euclidean < -1 (limit 0.99)" in found.complaints


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


def drawn(random: np.random.Generator, shape: tuple[int, ...], special: str) -> tuple[Array, Array]:
    expected = (random.standard_normal(shape) * 100).astype(np.float32)
    actual = (expected * (1 + random.standard_normal(shape) * 1e-3)).astype(np.float32)
    for side, number in {"nan": [(actual, np.nan)], "both": [(actual, np.nan), (expected, np.nan)]}.get(special, []):
        side.reshape(-1)[-3] = number
    if special == "inf":
        actual.reshape(-1)[7] = expected.reshape(-1)[7] = np.inf
        actual.reshape(-1)[9] = -np.inf
    return actual, expected


@pytest.mark.parametrize("special", ["", "nan", "both", "inf"])
@pytest.mark.parametrize(
    "shape",
    [(11,), (40_000,), (3, 5, 61, 67), (1, 96, 50, 50), (2, 301, 65), (2, 3, 1, 9, 11), (3, 2, 190, 190), (2, 40_000)],
)
def test_a_tensor_looked_at_part_by_part_has_the_metrics_of_the_whole(shape: tuple[int, ...], special: str) -> None:
    """Sums in particular: but for the last digits these are the exact ones, whatever a tensor is cut into."""
    actual, expected = drawn(np.random.default_rng(sum(shape)), shape, special)
    room = Room()
    measure(np.ones(50_000, np.float32), np.zeros(50_000, np.float32), room=room)  # leaves numbers behind
    found = measure(actual, expected, 1e-3, BY_NAME["f16"], room=room)
    usable = np.isfinite(actual) & np.isfinite(expected)
    a, b = (np.where(usable, side, 0).astype(np.float64) for side in (actual, expected))
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    broken = ~usable & ~same
    off = np.where(broken, np.inf, np.abs(a - b))
    bad = off > np.abs(b) * 1e-3 + 1e-8
    channels = tuple(axis for axis in range(a.ndim) if axis != found.channel_axis)

    def dot(x: Array, y: Array) -> float:
        return math.fsum((x * y).reshape(-1))

    def length(x: Array) -> float:
        return math.sqrt(dot(x, x))

    lengths = np.sqrt(np.square((a + b) / 2).sum(axis=channels))
    least = np.maximum(lengths, 0.1 * math.sqrt(float(np.square(lengths).mean())))
    similar = np.where(
        broken.any(axis=channels), -np.inf, 1 - np.sqrt(np.square(a - b).sum(axis=channels)) / (least + 1e-7)
    )
    assert found.cosine == pytest.approx(dot(a, b) / (length(a) * length(b)), rel=1e-14)
    assert found.euclidean == pytest.approx(1 - length(a - b) / (length((a + b) / 2) + 1e-7), rel=1e-14)
    noise, signal = length((a - b) - (a - b).mean()) ** 2, length(b - b.mean()) ** 2
    assert found.sqnr == pytest.approx(10 * math.log10(signal / noise), rel=1e-14)
    assert found.channel == pytest.approx(similar.min(), rel=1e-14)
    assert found.worst_channel == similar.argmin()
    assert (found.max_abs, found.bad_count) == (off.max(), bad.sum())
    assert found.worst == tuple(np.argwhere(off == off.max())[0])
    assert found.first_bad == tuple(np.argwhere(bad)[0])
    assert found.first_bad_per_axis == tuple(np.argwhere(bad).min(axis=0))
    _, exponents = np.frexp(np.maximum(np.abs(a), np.abs(b)))
    assert found.max_ulp == np.rint((off / np.ldexp(1.0, np.maximum(exponents - 1, -14) - 10)).max())
    counts = (found.nan_count, found.nan_expected, found.inf_count, found.inf_expected)
    assert counts == tuple(test(side).sum() for test in (np.isnan, np.isinf) for side in (actual, expected))


def test_what_was_compared_before_is_not_measured_again() -> None:
    comparer, zeros = Comparer(), np.zeros(4, np.float32)
    near = Sides(lambda: (zeros + 1, zeros))
    one = comparer.compare("x", near, Tolerance(), BY_NAME["f32"], 1.0, "identity")
    unseen = Sides(lambda: pytest.fail("numbers of a tensor that is known were put together"))
    assert comparer.compare("y", unseen, Tolerance(), BY_NAME["f32"], 1.0, "identity").metrics is one.metrics
    others = [
        comparer.compare("x", near, Tolerance(relative=0.5), BY_NAME["f32"], 1.0, "identity"),
        comparer.compare("x", near, Tolerance(), BY_NAME["f16"], 1.0, "identity"),
        comparer.compare("x", Sides(lambda: (zeros + 2, zeros)), Tolerance(), BY_NAME["f32"], 1.0, "another"),
        comparer.compare("x", near, Tolerance(), BY_NAME["f32"], 1.0, None),
    ]
    assert all(other.metrics is not one.metrics for other in others)
