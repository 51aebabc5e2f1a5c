"""The golden of a layer of attention, checked against its parts."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.tools.golden.formats import tensor_type
from tdb_dap.tools.golden.judging import executed
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.golden.library import Call, NoGolden, compute
from tests.samples import DATA

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


def test_stored_numbers_with_a_mask_are_refused_by_name() -> None:
    with pytest.raises(NoGolden, match="stored numbers with a mask"):
        compute(layer("!quant.uniform<i8:f32, 0.1>"))


@pytest.mark.parametrize("name", ["attention_int8", "attention_int8_asymmetric"])
def test_stored_numbers_give_the_sums_of_the_compiled_model(name: str) -> None:
    """Heads of attention that the compiler has quantised, with what its own interpreter has for them."""
    level = Level("tpu", DATA / "golden" / f"{name}.mlir")
    tensors = read_npz(DATA / "golden" / f"{name}.npz")
    ops = [op for op in level.ops if op.name == "tpu.Attention"]
    assert len(ops) == 2
    for op in ops:
        [sums] = compute(level.call(op, tensors))
        np.testing.assert_array_equal(sums, tensors[op.location].reshape(sums.shape))
        assert np.abs(sums).max() > 1000


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("head = 1 : i64, quant_param = [255977, 26", "head = 1 : i64, quant_param = [255977, 25"),
        ("744643, 28, 0", "744643, 27, 0"),
        ("scale = 0.0039", "scale = 0.0078"),
    ],
)
def test_a_wrong_factor_of_a_head_is_a_bug(old: str, new: str, tmp_path: Path) -> None:
    text = (DATA / "golden" / "attention_int8.mlir").read_text("utf-8")
    assert text.count(old) >= 1
    (tmp_path / "wrong.mlir").write_text(text.replace(old, new, 1), "utf-8")
    shutil.copy(DATA / "golden" / "attention_int8_weights.npz", tmp_path)
    level = Level("tpu", tmp_path / "wrong.mlir")
    tensors = read_npz(DATA / "golden" / "attention_int8.npz")
    ops = [op for op in level.ops if op.name == "tpu.Attention"]
    assert [one.verdict for one in executed(level, tensors, ops)] == ["bug", "exact"]
