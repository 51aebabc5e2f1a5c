"""What docs/python.md and the example notebooks show is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import execute_notebooks
from scripts.documentation import python_reference
from tests.conftest import Toy

PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"


def test_the_code_of_the_page_runs(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    files = {'"CONTEXT"': toy.directory, '"input.npz"': toy.inputs, '"ref.npz"': toy.reference}
    for block in blocks:
        code = block
        for word, path in files.items():
            code = code.replace(word, repr(str(path)))
        exec(compile(code, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "tpu.Softmax softmax16_Softmax" in said
    assert "f32[1,10" in said
    assert names["cycles"] == 3003


def test_the_reference_documents_every_public_member() -> None:
    text = python_reference.page()
    assert "- `walk(unit: Unit = 'op') -> Iterator[Stop]`: Step through the rest of the program" in text
    members = [name for _, _, names in python_reference.REFERENCE for name in names.split()]
    assert [name for name in members if not re.search(rf"^- `{name}[:(]", text, re.MULTILINE)] == []


@pytest.mark.parametrize("path", execute_notebooks.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_file_holds(path: Path) -> None:
    pytest.importorskip("ipykernel")
    assert list(execute_notebooks.differences(path)) == []


def test_text_that_arrives_in_parts_is_one_output(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    path = tmp_path / "slow.ipynb"
    code = "import sys, time\nprint(1)\nsys.stdout.flush()\ntime.sleep(0.5)\nprint(2)"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)
    (output,) = execute_notebooks.executed(path).cells[0].outputs
    assert output.text == "1\n2\n"


def test_a_notebook_that_shows_something_else_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel")
    [path, *_] = execute_notebooks.notebooks()
    changed = tmp_path / path.name
    changed.write_text(path.read_text("utf-8").replace("maxpool5_MaxPool", "maxpool6_MaxPool"))
    monkeypatch.setattr(execute_notebooks, "ROOT", tmp_path)
    found = list(execute_notebooks.differences(changed))
    assert found
    assert all("shows something else; run python -m scripts.execute_notebooks" in text for text in found)
