"""Sanitizers with the vendor's simulator executing: what they find does not depend on who executes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.tools.opening import open_debugger
from tests.samples import DATA, case

pytestmark = pytest.mark.vendor

MODELS = [
    *(DATA / "findings" / name for name in ("act_misc_bm1684_f32", "deconv_bm1684_int8", "toy_bm1690_f16c4")),
    case("toy_bm1684x_f16").path,
    case("toy_bm1688_int8c2").path,
]


@pytest.mark.parametrize("backend", ["cmodel", "lockstep"])
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_findings_are_the_same_on_every_backend(model: Path, backend: str) -> None:
    found = []
    for name in ("numpy", backend):
        debugger = open_debugger(model, model / "input.npz", backend=name)
        found.append(survey(debugger, made(chosen(["all"])), lambda done: None))
        debugger.close()
    assert found[0] == found[1]
