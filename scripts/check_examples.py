"""Install the examples into a new environment, without this directory on the path, and run their tests.

python -m scripts.check_examples
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.environments import fresh
from scripts.generated import ROOT

EXAMPLES = ROOT / "examples"


def main() -> int:
    """The exit code of pytest."""
    with tempfile.TemporaryDirectory() as scratch:  # pip builds where the sources are
        leave = shutil.ignore_patterns("build", "*.egg-info")
        copies = shutil.copytree(EXAMPLES, Path(scratch) / "examples", ignore=leave)
        packages = [str(path.parent) for path in sorted(copies.glob("*/pyproject.toml"))]
        python = fresh("examples", [".", *packages, "pytest", "pyyaml"])
    command = [str(python), "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(EXAMPLES), str(EXAMPLES)]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, cwd=python.parent, env=alone).returncode


if __name__ == "__main__":
    sys.exit(main())
