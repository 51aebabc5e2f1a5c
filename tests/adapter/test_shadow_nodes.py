"""What a tensor would be, under it in the Variables pane: expected at its precision, and ideal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz
from tests.dap_client import DapClient, Stop, Variable
from tests.triage_case import Compiled


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    return Compiled.into(tmp_path / "toy")


def at_the_pooling(client: DapClient, toy: Compiled) -> Stop:
    mlir = toy.context / "final.mlir"
    line = next(i for i, text in enumerate(mlir.read_text().splitlines(), 1) if '"tpu.Pool2D"' in text)
    inputs = str(toy.folder / "toy_in_f32.npz")
    client.launch(toy.context, stop_on_entry=False, breakpoints={mlir: [line]}, inputs=inputs)
    return client.expect_stopped("breakpoint")


def about(stop: Stop) -> dict[str, Variable]:
    [node] = stop.variable("Operands", "relu4_Relu").children(filter="named")
    return {child.name: child for child in node.children()}


def test_a_tensor_has_its_expected_and_its_ideal_numbers(client: DapClient, toy: Compiled) -> None:
    stop = at_the_pooling(client, toy)
    shadow = about(stop)["shadow"]
    assert shadow.value == "expected at this precision, ideal"
    rows = {row.name: row for row in shadow.children()}
    assert list(rows) == ["expected", "ideal", "off from expected", "off from ideal"]
    assert rows["off from expected"].value == "0.000%", "this chip does what its format allows"
    assert 0.1 < float(rows["off from ideal"].value.rstrip("%")) < 3
    top = read_npz(toy.folder / "toy_top_outputs.npz")["relu4_Relu"]
    channel = rows["ideal"].children(filter="indexed", start=3, count=1)[0]
    row = channel.children(filter="indexed", start=5, count=1)[0]
    numbers = [float(one.value) for one in row.children(filter="indexed")]
    np.testing.assert_allclose(numbers, top[0, 3, 5], rtol=1e-3, atol=1e-5)
    client.disconnect()


def test_where_the_compiler_s_text_is_not_there_nothing_is_shown(client: DapClient, toy: Compiled) -> None:
    toy.tpu.unlink()
    stop = at_the_pooling(client, toy)
    assert "shadow" not in about(stop)
    client.disconnect()
