"""Library of the generators: write the files that a script makes, or with --check compare them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_or_check(description: str | None, texts: Callable[[], Mapping[Path, str]]) -> int:
    """The command line of a generator: exit code 1 if --check is given and a file is not what ``texts`` makes.

    ``description``: the script's docstring, for --help; ``texts``: makes the whole text of every file.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    made = texts()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is out of date: run python -m scripts.generate", file=sys.stderr)
        else:
            path.write_text(made[path], "utf-8")
    return int(check and bool(stale))
