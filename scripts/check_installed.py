"""Install what is in dist/ (``make release``) on every Python that is present, and test it there.

    python -m scripts.check_installed [OPTION ...]

OPTION: of nox, whose sessions are in noxfile.py; ``-l`` lists them, ``-s install-3.12`` runs one.
"""

from __future__ import annotations

import subprocess
import sys

from scripts.environments import install_extra
from scripts.generated import ROOT


def main(options: list[str]) -> int:
    """The exit code of nox."""
    if options in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    install_extra("release")
    return subprocess.run([sys.executable, "-m", "nox", *options], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
