"""The commands of the page, on the model that comes with tdb-dap."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tdb_dap

HERE = Path(__file__).parents[1]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tdb_dap", *words], cwd=folder, capture_output=True, text=True)


def test_the_first_night_and_the_second(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    for name in ("models.yaml", "tolerated.yaml"):
        shutil.copy(HERE / name, tmp_path)
    shutil.copytree(Path(tdb_dap.__file__).parent / "sample", tmp_path / "models" / "toy")
    words = ("zoo", "run", "models.yaml", "--baseline", "tolerated.yaml")
    done = run(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path, *words).stdout == "run 2 of models: 1 case, 1 pass; nothing new compared with run 1\n"
    done = run(tmp_path, "zoo", "report", "--baseline", "tolerated.yaml", "-o", "zoo.html", "zoo.md")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "zoo.md").read_text().startswith("## run 2 of models")


def test_the_recipes_are_understood(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    shutil.copy(HERE / "recipes.yaml", tmp_path)
    done = run(tmp_path, "zoo", "run", "recipes.yaml", "--only", "resnet/bm1688/INT8", "--quiet", "--seconds", "60")
    assert done.returncode == 1
    assert "model_deploy" in done.stdout
