"""The list of op locations, wherever a release of the compiler leaves it."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

import pytest

from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.location_files import describes
from tests.command_line import tdb_dap
from tests.samples import case


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A context whose list of locations is next to it, under the bmodel's name, as releases 1.12 to 1.16 leave it."""
    context = tmp_path / "toy"
    shutil.copytree(case("toy_bm1684x_int8").path, context)
    text = lzma.decompress((context / "tensor_location.json.xz").read_bytes())
    (context / "tensor_location.json.xz").unlink()
    (tmp_path / "toy.bmodel.json").write_bytes(text)
    return context


def test_locations_around_the_context_are_its_own(apart: Path) -> None:
    context = Context.find(apart)
    assert context.locations == apart.parent / "toy.bmodel.json"
    done = tdb_dap("check", apart, "--inputs", apart / "input.npz", "--reference", apart / "ref.npz", "--quiet")
    assert done.stdout.startswith("pass: 20 tensors compared"), "ops are known"
    assert "toy.bmodel.json" in tdb_dap("info", apart).stdout


def test_another_compilation_s_locations_are_not_taken(apart: Path) -> None:
    """One record at another line, or two lists that both fit and are named like nothing here: neither is guessed."""
    path = apart.parent / "toy.bmodel.json"
    records = json.loads(path.read_text("utf-8"))
    records[3]["file-line"] += 1
    path.write_text(json.dumps(records), "utf-8")
    assert Context.find(apart).locations is None
    records[3]["file-line"] -= 1
    path.unlink()
    for name in ("a", "b"):
        (apart.parent / f"{name}.bmodel.json").write_text(json.dumps(records), "utf-8")
    assert Context.find(apart).locations is None
    (apart.parent / "b.bmodel.json").unlink()
    assert Context.find(apart).locations == apart.parent / "a.bmodel.json"


@pytest.mark.parametrize("text", ["", "[]", "{}", '[{"file-line": 99999999, "opcode": "tpu.Load"}]'])
def test_a_file_that_lists_no_op_of_the_text_describes_nothing(text: str, apart: Path) -> None:
    path = apart.parent / "toy.bmodel.json"
    path.write_text(text, "utf-8")
    assert not describes(path, apart / "final.mlir")
