"""Each pain of docs/triage.md with its transcript, executed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.docs.transcripts import steps
from tests.triage_case import write_all

PAGE = Path(__file__).parent.parent.parent / "docs" / "triage.md"


def test_every_command_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    write_all(tmp_path)
    # The page is for a machine without the compiler.
    others = [path for path in os.environ["PATH"].split(os.pathsep) if not (Path(path) / "model_deploy").exists()]
    scripts = os.pathsep.join([str(Path(sys.executable).parent), *others])
    done = 0
    for step in steps(PAGE):
        ran = step.run(tmp_path, {**os.environ, "PATH": scripts})
        step.check(ran.stdout + ran.stderr)
        done += 1
    assert done >= 10
