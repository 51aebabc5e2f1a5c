"""The way from nothing to the first bug found, as the tutorial describes it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from scripts.make_overlap import OVERLAP, make
from tests.docs.transcripts import Step, blocks, steps

ROOT = Path(__file__).parent.parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_every_command_of_the_tutorial_prints_what_it_says(tmp_path: Path) -> None:
    shutil.copytree(OVERLAP, tmp_path / "examples" / "overlap")
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = 0
    for step in steps(TUTORIAL):
        ran = step.run(tmp_path, {**os.environ, "PATH": scripts, "XDG_STATE_HOME": str(tmp_path / "state")})
        step.check(ran.stdout + ran.stderr)
        done += 1
    assert done >= 8


def test_the_example_is_what_its_script_makes(tmp_path: Path) -> None:
    make(tmp_path)
    names = {path.name for path in OVERLAP.iterdir()}
    assert names == {path.name for path in tmp_path.iterdir()}
    assert [name for name in names if (tmp_path / name).read_bytes() != (OVERLAP / name).read_bytes()] == []


def test_the_tutorial_in_chinese_has_the_same_commands() -> None:
    assert blocks(ROOT / "docs" / "tutorial.zh.md") == blocks(TUTORIAL)


def test_a_transcript_that_is_not_true_is_told() -> None:
    step = Step("x", [], ["a", "b ...", "...", "e"])
    step.check("a\nb 3\nc\nd\ne\n")
    step.check("a\nb 3\ne\n")
    with pytest.raises(AssertionError, match=r"b \.\.\."):
        step.check("a\nc\ne\n")
    with pytest.raises(AssertionError, match="prints more than"):
        step.check("a\nb 3\ne\nf\n")
