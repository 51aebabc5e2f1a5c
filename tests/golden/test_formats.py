"""Number formats, and sums over windows, beside other ways to compute the same."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.windows import convolution

F16 = TensorType(None, "f16")


def every_half() -> Array:
    """All numbers of 16 bits, what is between two of them, and what is around the last."""
    words = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    others = [65519.9, 65520.0, -65520.0, 2.0**-25, 1e300, -0.0]
    with np.errstate(all="ignore"):
        return np.concatenate([words, words * (1 + 2.0**-11), words * 1.3, others])


def test_numbers_are_stored_in_f16_as_numpy_rounds_them() -> None:
    numbers = every_half()
    with np.errstate(all="ignore"):
        wanted = numbers.astype(np.float16).astype(np.float64)
    given = F16.stored(numbers)
    assert np.array_equal(given, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(given), np.signbit(wanted))


def test_a_step_is_the_distance_to_the_next_number() -> None:
    numbers = np.abs(every_half())
    for storage, kind in (("f16", np.float16), ("f32", np.float32)):
        with np.errstate(all="ignore"):
            stored = numbers.astype(kind)
        stored = stored[stored < np.finfo(kind).max]
        steps = TensorType(None, storage).step(stored.astype(np.float64))
        assert np.array_equal(steps, np.spacing(stored).astype(np.float64))
    assert np.array_equal(F16.step(np.array([np.inf, -np.inf, np.nan])), [2.0**-24] * 3)
    assert F16.step(np.array(1.5)).shape == ()


def test_a_convolution_of_single_channels_is_one_of_pairs_that_are_alike() -> None:
    random = np.random.default_rng(5)
    x, weight = random.standard_normal((2, 6, 9, 8)), random.standard_normal((6, 1, 3, 2))
    window = ((3, 2), (2, 1), (1, 2), (1, 0, 1, 2))
    single = convolution(x, weight, *window, groups=6)
    pairs = convolution(np.repeat(x, 2, 1), np.repeat(np.repeat(weight, 2, 1), 2, 0) / 2, *window, groups=6)
    assert np.allclose(single, pairs[:, ::2], rtol=1e-12, atol=1e-12)
