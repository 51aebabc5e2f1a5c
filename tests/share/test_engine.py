"""The session inside a shared page: what the worker asks, and what it is told."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdb_dap
from tdb_dap.tools.share.engine import MANIFEST, Shared
from tests.samples import DATA

TOY = DATA / "bm1684x" / "toy_bm1684x_f32"
CORES = DATA / "bm1690" / "toy_bm1690_f16c8"
RECORDING = DATA / "recordings" / "toy_bm1688.tdbrec"


class Asked:
    """A shared folder, asked as the worker asks it."""

    def __init__(self, folder: Path, model: Path, inputs: str = "", at: int = 0) -> None:
        if model.is_dir():
            shutil.copytree(model, folder)
        else:
            folder.mkdir()
            shutil.copy(model, folder)
        bmodel = next(iter(folder.glob("*.bmodel*")), folder / model.name)
        manifest = {"model": bmodel.name, "inputs": inputs, "reference": "", "at": at, "bookmarks": {"here": at}}
        (folder / MANIFEST).write_text(json.dumps(manifest))
        self._shared = Shared(str(folder))

    def __call__(self, ask: str, **more: Any) -> Any:
        return json.loads(self._shared.ask(json.dumps({"ask": ask, **more})))


@pytest.fixture
def toy(tmp_path: Path) -> Asked:
    """A network that is shared at its first pooling."""
    return Asked(tmp_path / "shared", TOY, "input.npz", at=5)


def test_it_opens_at_the_shared_moment_and_steps_both_ways(toy: Asked) -> None:
    state = toy("state")
    assert (state["ordinal"], state["line"]) == (5, 23)
    assert [value["expression"] for value in state["values"]] == ["in[0]", "out[0]"]
    assert "not yet computed" in state["values"][1]["text"]
    forwards = toy("step", count=1, unit="op")
    assert forwards["ordinal"] == 6
    assert toy("step", count=-1, unit="op") == state
    assert toy("step", count=2, unit="command")["ordinal"] == 7
    assert toy("travel", ordinal=58)["atEnd"]


@pytest.mark.parametrize(("model", "inputs"), [(TOY, "input.npz"), (CORES, "input.npz"), (RECORDING, "")])
def test_outputs_are_those_of_this_machine(tmp_path: Path, model: Path, inputs: str) -> None:
    here = tdb_dap.open(model, inputs=model / inputs if inputs else None)
    here.run()
    expected = {
        name: f"{zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"
        for name, array in here.outputs(raw=True).items()
    }
    assert Asked(tmp_path / "shared", model, inputs)("outputs") == expected


def test_a_tensor_is_a_picture_and_what_is_not_computed_is_none(toy: Asked) -> None:
    tensor = toy("tensor", expression="in[0]")
    assert tensor["shape"] == [1, 16, 32, 32]
    assert (len(tensor["picture"]), len(tensor["picture"][0])) == (32, 32)
    assert "not yet computed" in toy("tensor", expression="out[0]")["error"]


def test_questions_about_the_whole_run_move_nothing(toy: Asked) -> None:
    before = toy("state")
    assert toy("line", text="max(in[0])")["lines"] == ["3.9359858"]
    assert "2 hits at 2 places" in toy("line", text="trace max(out[0]) at tpu.Conv2D")["lines"][0]
    assert toy("line", text="when max(out[0]) > 3")["lines"][1].startswith("first: ")
    assert "tensors" in toy("line", text="where max(x) > 3")["lines"][0]
    assert toy("state") == before


def test_a_wrong_question_is_an_answer_that_says_so(toy: Asked) -> None:
    assert "no tensor named 'nonsense'" in toy("line", text="max(nonsense)")["error"]
    assert "not in this program" in toy("travel", ordinal=1 << 30)["error"]
    assert toy("state")["ordinal"] == 5
