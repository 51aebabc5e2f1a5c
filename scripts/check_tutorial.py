"""Run the tutorial, command by command, in a copy of the last commit with a new environment and an empty home.

    python -m scripts.check_tutorial

Needs nothing but Python and git: no development environment.
"""

from __future__ import annotations

import shutil
import sys

from scripts.generated import ROOT
from tests.docs.transcripts import follow

PAGE = ROOT / "docs" / "tutorial.md"

if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit("check_tutorial: error: git is not on PATH; it copies the project")
    print(f"{follow(PAGE)} command lines did what {PAGE.relative_to(ROOT)} says")
