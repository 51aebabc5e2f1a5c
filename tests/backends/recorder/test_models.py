"""The models of a recording, and the sources that are attached to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tdb_dap.backends.recorder.models import Models
from tdb_dap.system.notices import heard_by
from tests.samples import DATA

MODEL = DATA / "bm1684x" / "toy_bm1684x_f32"


@pytest.mark.parametrize("is_link", [True, False])
def test_sources_that_links_lead_to_are_attached_and_named(is_link: bool, tmp_path: Path) -> None:
    context, elsewhere = tmp_path / "context", tmp_path / "elsewhere"
    shutil.copytree(MODEL, context)
    elsewhere.mkdir()
    if is_link:
        shutil.move(context / "final.mlir", elsewhere / "final.mlir")
        (context / "final.mlir").symlink_to(elsewhere / "final.mlir")
    said: list[str] = []
    with heard_by(said.append):
        attached = dict(Models().attachments(0, str(next(context.glob("*.bmodel*")))))
    assert any(name.endswith(("final.mlir", "final.mlir.xz")) for name in attached), sorted(attached)
    assert said == ([f"following links out of {context}: final.mlir -> {elsewhere / 'final.mlir'}"] if is_link else [])
