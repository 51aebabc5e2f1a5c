"""Language models on the vendor's runtime: what ours computes, and what a recording of it replays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.tools.llm.answering import answer
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.pictures.reading import read_picture
from tdb_dap.tools.llm.recorded_answer import record_answer
from tdb_dap.tools.llm.running import Answering
from tdb_dap.tools.opening import open_debugger
from tests.llm.models import DYNAMIC, HISTORY, LLAMA, PROMPT, QWEN, STATIC, VISION, float_model, program, write_picture

pytestmark = pytest.mark.vendor


@pytest.mark.parametrize("folder", STATIC, ids=lambda folder: folder.name)
def test_every_output_of_every_launch_is_equal(folder: Path, tmp_path: Path) -> None:
    model, made = program(folder, 5)
    results = record_answer(model, answer(model, PROMPT, 5), tmp_path / "run.tdbrec")
    debugger = Debugger(made, Machine(made, history_limit=0), None)
    assert len(results) == len(made.launches)
    for launch, wanted in zip(made.launches, results, strict=True):
        debugger.run_to(launch.stop)
        outputs = made.borders_of(launch)[1]
        stored = b"".join(debugger.machine.memory.read(tensor.view).tobytes() for tensor in outputs)
        assert stored == wanted, launch.title


@pytest.mark.parametrize("size", [(112, 168), (56, 140)], ids=["full", "padded"])
def test_every_output_with_a_picture_is_equal(size: tuple[int, int], tmp_path: Path) -> None:
    model = read_model(VISION)
    image = write_picture(tmp_path / "picture.npy", *size)
    prompt, pictures = read_picture(model, (5, 93, 91, 94), image, None)
    results = record_answer(model, answer(model, prompt, 2, pictures=pictures), tmp_path / "run.tdbrec")
    _, made = program(VISION, 2, prompt=prompt, pictures=pictures)
    debugger = Debugger(made, Machine(made, history_limit=0), None)
    for launch, wanted in zip(made.launches, results, strict=True):
        debugger.run_to(launch.stop)
        outputs = made.borders_of(launch)[1]
        stored = b"".join(debugger.machine.memory.read(tensor.view).tobytes() for tensor in outputs)
        assert stored == wanted, launch.title
    recorded = open_debugger(tmp_path / "run.tdbrec", history_limit=0)
    tokens = list(Answering(recorded, model, prompt, (), float_model(VISION), pictures=pictures).tokens())
    assert [part for token in tokens for part in token.parts if part.is_wrong] == []
    assert [token.id for token in tokens] == [token.expected for token in tokens]


@pytest.mark.parametrize("folder", [QWEN, LLAMA, DYNAMIC], ids=lambda folder: folder.name)
def test_a_recorded_run_is_right_beside_the_float_model(folder: Path, tmp_path: Path) -> None:
    model = read_model(folder)
    record_answer(model, answer(model, PROMPT, 4), tmp_path / "run.tdbrec")
    debugger = open_debugger(tmp_path / "run.tdbrec", history_limit=0)
    tokens = list(Answering(debugger, model, PROMPT, (), float_model(folder)).tokens())
    assert [part for token in tokens for part in token.parts if part.is_wrong] == []
    assert len(tokens) == 4


@pytest.mark.parametrize("length", [8, 9, 16, 27])
def test_a_prompt_in_parts_is_right_on_the_vendors_runtime(length: int, tmp_path: Path) -> None:
    model = read_model(HISTORY)
    prompt = [(11 * number + 3) % 96 for number in range(length)]
    record_answer(model, answer(model, prompt, 2, all_stages=False), tmp_path / "run.tdbrec")
    debugger = open_debugger(tmp_path / "run.tdbrec", history_limit=0)
    tokens = list(Answering(debugger, model, prompt, (), float_model(HISTORY)).tokens())
    assert [part for token in tokens for part in token.parts if part.is_wrong] == []
    assert [token.id for token in tokens] == [token.expected for token in tokens]
