"""The first element of a tensor that differs from the reference, in number formats narrower than a byte too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.checks.wrong_elements import texts, wrong_elements
from tdb_dap.engine.hardware.views import View
from tests.samples import case


@pytest.mark.parametrize("index", [(0, 0, 0, 0), (0, 3, 5, 6), (0, 3, 5, 7), (0, 7, 13, 13)])
def test_of_two_elements_in_one_byte_the_wrong_one_is_named(tmp_path: Path, index: tuple[int, ...]) -> None:
    model = case("conv3x3_bm1688_int4")
    with tdb_dap.open(model.path, inputs=model.inputs) as recording:
        record = next(r for r in recording.program.source.records if r.opcode == "tpu.Cast")
        recording.travel(record.last + 1)
        expected = recording.evaluate("out[0]@op1").real
    name = record.results[0].name
    reference: dict[str, Any] = {name: expected}
    np.savez(tmp_path / "ref.npz", **reference)
    with tdb_dap.open(model.path, inputs=model.inputs, reference=tmp_path / "ref.npz") as debugger:
        debugger.travel(record.last + 1)
        scope = debugger.scope(record.last, "op")
        assert list(wrong_elements(scope)) == []
        value = scope.results()[0]
        assert isinstance(value.view, View)
        assert value.view.dtype.per_byte == 2
        was = int(value.array[index])
        value.forget()
        debugger.write(f"out[0]@op1[{','.join(map(str, index))}]", -8 if was > 0 else 7)
        [wrong] = wrong_elements(debugger.scope(record.last, "op"))
        assert wrong.index == index
        assert wrong.expected == pytest.approx(float(expected[index]))
        [text] = texts(debugger.scope(record.last, "op"))
        assert "; edited at command" in text
