"""docs/llm.md with its transcripts, executed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.docs.transcripts import steps
from tests.llm_case import write_all

PAGE = Path(__file__).parent.parent.parent / "docs" / "llm.md"


def test_every_command_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    write_all(tmp_path)
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = 0
    for step in steps(PAGE):
        ran = step.run(tmp_path, {**os.environ, "PATH": scripts})
        step.check(ran.stderr + ran.stdout)
        done += 1
    assert done == 11
