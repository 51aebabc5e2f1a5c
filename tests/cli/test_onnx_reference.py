"""``tdb-dap check --onnx``: what the original model computes, node by node."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.onnx_model import computed
from tests.command_line import tdb_dap
from tests.triage_case import Compiled


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    return Compiled.into(tmp_path / "toy")


def head_of(toy: Compiled, factor: float = 1.0) -> Path:
    """An ONNX file of the first three layers of the toy. ``factor``: of the weights."""
    onnx: Any = pytest.importorskip("onnx")
    helper, numpy_helper = (importlib.import_module(f"onnx.{name}") for name in ("helper", "numpy_helper"))
    weights = read_npz(toy.folder / "toy_top_f32_all_weight.npz")
    stored = [
        numpy_helper.from_array((weights["w1"].reshape(16, 3, 3, 3) * factor).astype(np.float32), "w1"),
        numpy_helper.from_array(weights["w2"].reshape(16).astype(np.float32), "w2"),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1", "w2"], ["conv3"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        helper.make_node("Relu", ["conv3"], ["relu4"]),
        helper.make_node("MaxPool", ["relu4"], ["maxpool5"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    shapes = (("x", (1, 3, 32, 32)), ("maxpool5", (1, 16, 16, 16)))
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes]
    graph = helper.make_graph(nodes, "toy", ends[:1], ends[1:], stored)
    path = toy.folder / "toy.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def test_tensors_are_held_against_the_nodes_that_they_come_from(toy: Compiled) -> None:
    inputs = toy.folder / "toy_in_f32.npz"
    check = ("check", toy.context, "--inputs", inputs, "--tolerance", "0.999,0.95")
    done = tdb_dap(*check, "--onnx", head_of(toy), "--all")
    assert done.returncode == 0, done.stderr
    rows = {tuple(line.split()[1:4]) for line in done.stdout.splitlines()}
    for row in (("tpu.Conv2D", "relu4_Relu", "pass"), ("tpu.Pool2D", "maxpool5_MaxPool", "pass")):
        assert row in rows
    assert ("tpu.Cast", "xrelu4_Relu_si8", "pass") not in rows, "no node computes it"
    done = tdb_dap(*check, "--onnx", head_of(toy, factor=1.2))
    assert (done.returncode, "relu4_Relu" in done.stdout.splitlines()[0]) == (1, True)
    assert tdb_dap(*check, "--reference", toy.folder / "toy.onnx").stdout == done.stdout


def test_without_onnx_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(BadInput, match="needs onnx: pip install onnx"):
        computed(Path("model.onnx"), {}, ())


def test_what_cannot_be_evaluated_is_one_line(toy: Compiled, tmp_path: Path) -> None:
    path = head_of(toy)
    with pytest.raises(BadInput, match="its inputs are x; give --inputs"):
        computed(path, {"y": np.zeros(3)}, ())
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(path.read_bytes()[:200])
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--onnx")
    for file, text in (
        (damaged, "damaged.onnx: cannot be"),
        (tmp_path / "nowhere.onnx", "nowhere.onnx: cannot be read as an ONNX model"),
        (toy.tpu_outputs, "its name must end in .onnx"),
    ):
        done = tdb_dap(*check, file)
        assert (done.returncode, done.stdout) == (2, "")
        assert text in done.stderr
        assert len(done.stderr.splitlines()) == 1
