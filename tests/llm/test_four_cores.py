"""A language model for the four cores of BM1684X2, in W4."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.backends.discovery import library_of
from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.schedule import Step
from tdb_dap.targets.chips.registry import chips
from tdb_dap.tools.opening import open_debugger
from tests.llm.models import X2, answered, is_fill, wrong

NETS = ("embedding", "block_0", "block_cache_0")


def test_every_block_computes_what_the_float_model_does() -> None:
    tokens = answered(X2)
    assert list(wrong(tokens)) == []
    assert [token.id for token in tokens[:2]] == [token.expected for token in tokens[:2]]


def test_a_host_s_fault_is_named() -> None:
    def skip(step: Step, before: str) -> tuple[Step, ...] | Step:
        return () if is_fill(step, "position_ids") and before == "block_cache_0 at token 2" else step

    number, part = next(wrong(answered(X2, 3, skip)))
    assert (number, part.launch.net) == (2, "block_cache_0")
    assert any("position_ids" in text for text in part.given)


def _inputs(net: str, folder: Path) -> Path:
    """Random inputs of a net of the model."""
    stage = next(one for one in Bmodel(X2 / "small_llama.bmodel.xz").metadata.nets if one.name == net).stages[0]
    random = np.random.default_rng(4)
    arrays: dict[str, Array] = {
        tensor.name: random.standard_normal(tensor.shape).astype(np.float32)
        if tensor.dtype.is_float
        else random.integers(0, 16, tensor.shape).astype(np.int32)
        for tensor in stage.inputs
    }
    write_npz(folder / "inputs.npz", arrays)
    return folder / "inputs.npz"


@pytest.mark.vendor
@pytest.mark.parametrize("net", NETS)
def test_every_command_is_as_in_the_vendor_s_simulator(net: str, tmp_path: Path) -> None:
    assert library_of(chips()["BM1684X2"]) is not None
    shutil.copyfile(X2 / "small_llama.bmodel.xz", tmp_path / "m.bmodel.xz")
    debugger: Debugger = open_debugger(
        tmp_path / "m.bmodel.xz", net=net, inputs=_inputs(net, tmp_path), backend="lockstep"
    )
    try:
        stop = debugger.run_to(len(debugger.program.commands))
        assert stop.finding is None, stop.text
    finally:
        debugger.close()
