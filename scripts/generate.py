"""Write every file that is made from schemas or code, or check that each is up to date.

    python -m scripts.generate [NAME ...]            write them
    python -m scripts.generate --check [NAME ...]    write nothing; exit code 1 if a file is out of date

NAME: ``protocol`` for ``scripts/generate_protocol.py``, and so on; default: all of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from scripts.generated import ROOT

_PREFIX = "generate_"
_FIRST = ("protocol",)
"""The other generators import what this one writes."""


def generators() -> list[str]:
    """The names of all generators, in the order in which they must run."""
    names = {path.stem.removeprefix(_PREFIX) for path in Path(__file__).parent.glob(f"{_PREFIX}*.py")}
    return [*_FIRST, *sorted(names.difference(_FIRST))]


def main() -> int:
    """Run each in its own process; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    arguments = parser.parse_args()
    names = arguments.names or generators()
    if unknown := set(names) - set(generators()):
        parser.error(f"no generator {', '.join(sorted(unknown))}; there are: {', '.join(generators())}")
    options = ["--check"] if arguments.check else []
    codes = [
        subprocess.run([sys.executable, "-m", f"scripts.{_PREFIX}{name}", *options], cwd=ROOT).returncode
        for name in names
    ]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
