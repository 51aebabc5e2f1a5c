"""Weighted sums over windows of floats: vectors of every width against the narrowest, in all shapes that lanes take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.halves import FLUSHED_F16, without_subnormals
from tdb_dap.targets.arithmetic.sums import weighted
from tdb_dap.targets.arithmetic.windows import Windows

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason=kernel.describe())

FORMATS = {"f32": F32, "f16": F16, "bf16": BF16, "flushed f16": FLUSHED_F16}
PLAIN, TINY, SPECIAL = "plain", "tiny", "special"


def numbers(random: np.random.Generator, shape: tuple[int, ...], kind: str, form: str) -> NDArray[np.float32]:
    """Numbers that a format holds; ``TINY``: next to its lower end; ``SPECIAL``: with infinities, NaNs and zeros."""
    found = random.standard_normal(shape).astype(np.float32)
    if kind == TINY:
        found = found * np.float32(2.0 ** (-66 if form in ("f32", "bf16") else -13 if form == "f16" else -7))
    if kind == SPECIAL:
        chosen = random.integers(0, 40, shape)
        for number, value in enumerate((np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0)):
            found[chosen == number] = value
    if form == "flushed f16":
        return without_subnormals(found.astype(np.float16).astype(np.float32), FLUSHED_F16)
    if form == "f16":
        return found.astype(np.float16).astype(np.float32)
    return (found.view(np.uint32) & 0xFFFF0000).view(np.float32) if form == "bf16" else found


@given(
    seed=st.integers(0, 1 << 30),
    planes=st.integers(1, 70),
    size=st.tuples(st.integers(1, 20), st.integers(1, 40)),
    steps=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    window=st.sampled_from([(1, 1), (3, 3), (1, 7), (2, 5), (1, 33), (5, 1), (4, 16)]),
    form=st.sampled_from(["f32", "f16", "bf16", "flushed f16"]),
    kind=st.sampled_from([PLAIN, TINY, SPECIAL]),
    has_starts=st.booleans(),
    zero=st.sampled_from([0.0, -0.0]),
)
def test_every_width_adds_the_same(
    seed: int,
    planes: int,
    size: tuple[int, int],
    steps: tuple[int, int],
    window: tuple[int, int],
    form: str,
    kind: str,
    has_starts: bool,
    zero: float,
) -> None:
    random = np.random.default_rng(seed)
    wide = (size[1] - 1) * steps[1] + window[1] + int(random.integers(0, 3))
    high = (size[0] - 1) * steps[0] + window[0]
    image = numbers(random, (planes, high * wide), kind, form)
    weights = numbers(random, (planes, window[0] * window[1]), kind, form)
    starts = numbers(random, (planes,), kind, form) if has_starts else None
    offsets = (np.arange(window[0])[:, None] * wide + np.arange(window[1])).reshape(-1).astype(np.int64)
    windows = Windows(image, offsets, size, (steps[0] * wide, steps[1]))
    found: list[NDArray[Any]] = []
    for lanes in kernel.widths():
        kernel.choose_width(lanes)
        found.append(weighted(windows, weights, starts, FORMATS[form], zero).view(np.uint32))
    assert all(np.array_equal(found[0], other) for other in found[1:])
