"""docs/whole-run.md with its transcripts, executed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np

from tests.docs.transcripts import steps
from tests.samples import DATA

PAGE = Path(__file__).parent.parent.parent / "docs" / "whole-run.md"


def test_every_command_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    shutil.copytree(DATA / "contexts" / "neck_bm1684x_int8", tmp_path / "neck")
    shutil.copytree(DATA / "llm" / "qwen2_bm1684x_bf16", tmp_path / "qwen")
    shutil.copytree(DATA / "contexts" / "sliced_int8", tmp_path / "sliced")
    loud = np.random.default_rng(0).standard_normal((1, 3, 384, 384)) * 20
    np.savez(tmp_path / "sliced" / "loud.npz", x=loud.astype(np.float32))
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = 0
    for step in steps(PAGE):
        ran = step.run(tmp_path, {**os.environ, "PATH": scripts})
        step.check(ran.stderr + ran.stdout)
        done += 1
    assert done == 7
