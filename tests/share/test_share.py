"""``tdb-dap share``: what it says before it writes, and what it writes."""

from __future__ import annotations

import base64
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.cli.main import main
from tdb_dap.tools.share.engine import MANIFEST
from tdb_dap.tools.share.sharing import ENGINE
from tests.samples import DATA

TOY = DATA / "bm1684x" / "toy_bm1684x_f32"


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """Files with the names of an engine: what is in them only a browser looks at."""
    folder = tmp_path / "engine"
    folder.mkdir()
    for name in (*ENGINE, "numpy-2-py3-none-any.whl", "tdb_dap-0.1.0-cp310-abi3-wasm.whl"):
        (folder / name).write_text(f"// {name} </script>")
    return folder


def test_it_says_what_the_page_holds_and_wants_to_be_told(
    engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "page"
    words = ["share", str(TOY), "--inputs", str(TOY / "input.npz"), "-o", str(target), "--engine", str(engine)]
    assert main(words) == 2
    seen = capsys.readouterr()
    assert "compilation.bmodel.xz: compiled model, with its weights, 24,296 bytes" in seen.out
    assert "input.npz: inputs, " in seen.out
    assert "give --with-weights to agree, or --no-weights; nothing is written" in seen.err
    assert not target.exists()
    assert main([*words, "--with-weights"]) == 0
    assert "serve the folder" in capsys.readouterr().out
    assert main([*words, "--with-weights"]) == 2
    assert "is not empty" in capsys.readouterr().err


def _encodings(words: bytes) -> list[str]:
    """How bytes could be written in a page."""
    return [words.hex(), base64.b64encode(words).decode().rstrip("=")[:-1]]


def test_without_weights_no_value_of_a_weight_is_in_the_page(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert main(["share", str(TOY), "--inputs", str(TOY / "input.npz"), "-o", str(target), "--no-weights"]) == 0
    text = target.read_text()
    debugger = tdb_dap.open(TOY)
    weights = debugger.program.source.weights
    assert len(weights) >= 4
    for name, weight in weights.items():
        assert weight.view is not None
        numbers = np.ascontiguousarray(debugger.read(weight.view)).reshape(-1)
        for start in range(0, numbers.size - 3, 3):  # 12 bytes: whole groups of base64
            assert not any(form in text for form in _encodings(numbers[start : start + 3].tobytes())), name
        inner = [number for number in numbers.tolist() if number not in (0, numbers.min(), numbers.max())]
        assert not [number for number in inner if f">{number:.6g}<" in text], name
    assert "default-src 'none'" in text
    assert "<script" not in text
    for word in ("tpu.Conv2D", "relu4_Relu", "f32[1,16,32,32]"):
        assert word in text
    other = tmp_path / "again.html"
    assert main(["share", str(TOY), "--inputs", str(TOY / "input.npz"), "-o", str(other), "--no-weights"]) == 0
    assert other.read_text() == text


def _code(words: list[str]) -> int | str | None:
    """Exit code of a command, also where the parser of options ends it."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("more", [("--at", "5"), ("--with-weights",)])
def test_without_weights_there_are_no_moments(more: tuple[str, ...], tmp_path: Path) -> None:
    words = ["share", str(TOY), "-o", str(tmp_path / "page.html"), "--no-weights", *more]
    assert _code(words) == 2
    assert not (tmp_path / "page.html").exists()


def test_a_folder_holds_the_model_the_moment_and_a_strict_policy(engine: Path, tmp_path: Path) -> None:
    target = tmp_path / "page"
    words = ["share", str(TOY), "-o", str(target), "--engine", str(engine), "--with-weights"]
    assert main([*words, "--at", "5", "--bookmark", "relu=4"]) == 0
    with zipfile.ZipFile(target / "data.zip") as data:
        manifest = json.loads(data.read(MANIFEST))
        assert set(data.namelist()) >= {MANIFEST, "final.mlir", manifest["model"]}
    assert (manifest["at"], manifest["bookmarks"], manifest["inputs"]) == (5, {"relu": 4}, "")
    index = (target / "index.html").read_text()
    assert "default-src 'none'" in index
    assert "https://" not in index


def test_one_file_holds_everything_and_no_content_ends_an_element(
    engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "page.html"
    assert main(["share", str(TOY), "-o", str(target), "--engine", str(engine), "--with-weights"]) == 0
    assert "no --inputs given: in the page all inputs are zero" in capsys.readouterr().err
    text = target.read_text()
    assert not re.search("script-src[^;]*(unsafe-inline|'unsafe-eval')", text)
    assert text.count("<script") == text.count("</script>")
    assert text.count('data-name="') == len(ENGINE) + 2 + 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "{tmp}/nowhere"], "is no engine for browsers"),
        ([], "--engine: give the folder"),
        (["--engine", "{engine}", "--at", "999"], "not in this program"),
        (["--engine", "{engine}", "--bookmark", "x"], "write NAME=N"),
        (["--engine", "{engine}", "--bookmark", "x=99999999999999999999"], "write NAME=N"),
        (["--engine", "{engine}", "--inputs", "{tmp}/none.npz"], "no such file to share"),
    ],
)
def test_what_cannot_be_shared_is_one_line(
    engine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.delenv("TDB_DAP_ENGINE", raising=False)
    given = [word.format(tmp=tmp_path, engine=engine) for word in words]
    assert main(["share", str(TOY), "-o", str(tmp_path / "page"), "--with-weights", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "page").exists()
