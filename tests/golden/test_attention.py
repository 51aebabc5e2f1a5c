"""The golden of a layer of attention, held against its parts."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.tools.golden.formats import tensor_type
from tdb_dap.tools.golden.library import Call, NoGolden, compute

HEADS, DIM, WIDTH, LENGTH = 2, 4, 6, 5


def layer(storage: str = "f32", **changed: object) -> Call:
    """Attention of two heads on random numbers, with a mask."""
    random = np.random.default_rng(3)
    inside = HEADS * DIM
    shapes = [
        (1, LENGTH, WIDTH),
        *[(WIDTH, inside), (1, 1, inside)] * 3,
        (1, inside, WIDTH),
        (1, 1, WIDTH),
        (1, 1, LENGTH, LENGTH),
    ]
    arrays = [random.standard_normal(shape) for shape in shapes]
    inputs = (arrays[0], None, None, *arrays[1:], None)
    kind = tensor_type(f"tensor<1x{LENGTH}x{WIDTH}x{storage}>")
    attributes = {"head": HEADS, "dim": DIM, "scale": 0.5, **changed}
    return Call("tpu.Attention", inputs, attributes, (kind,), (kind,))


def test_each_head_mixes_its_own_columns() -> None:
    call = layer()
    x = call[0][0]
    q, k, v = (x @ call[place] + call[place + 1].reshape(-1) for place in (3, 5, 7))
    columns = []
    for head in range(HEADS):
        own = slice(head * DIM, (head + 1) * DIM)
        scores = 0.5 * q[:, own] @ k[:, own].T + call[11][0, 0]
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        columns.append(shares @ v[:, own])
    expected = np.concatenate(columns, axis=1) @ call[9][0] + call[10].reshape(-1)
    np.testing.assert_allclose(compute(call)[0][0], expected, rtol=1e-12)


def test_stored_numbers_are_refused_by_name() -> None:
    with pytest.raises(NoGolden, match="table of exponentials"):
        compute(layer("!quant.uniform<i8:f32, 0.1>"))
