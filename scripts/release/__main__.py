"""Build a release of the commit that is checked out: source distribution, wheels with and without the C kernel, VSIX.

python -m scripts.release              into dist/, with SHA256SUMS
python -m scripts.release --twice      and again, elsewhere and in another way, to see that the bytes are the same
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.generated import ROOT
from scripts.release import cross
from scripts.release.archives import contents
from scripts.release.building import Commit, build
from scripts.release.steps import BadBuild

OTHERWISE = {"TZ": "Asia/Shanghai", "LC_ALL": "C", "LANG": "C", "PYTHONHASHSEED": "7", "COLUMNS": "40"}
"""The environment of the second build."""


def differences(first: list[Path], second: list[Path]) -> Iterator[str]:
    """One line per file that is not the same in both builds, with the members that differ."""
    others = {path.name: path for path in second}
    for name in sorted({path.name for path in first} ^ set(others)):
        yield f"{name}: in one build only"
    for path in first:
        other = others.get(path.name)
        if other is None or path.read_bytes() == other.read_bytes():
            continue
        if path.suffix not in (".gz", ".whl", ".vsix"):
            yield path.name
            continue
        ours, theirs = contents(path), contents(other)
        members = [name for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name)]
        yield f"{path.name}: {', '.join(members) or 'the same files, packed differently'}"


def build_again(commit: Commit, into: Path) -> list[Path]:
    """A second build under a longer name, with files of now, that others may not read, in another environment."""
    before = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory(prefix="tdb-dap-built-again-in-another-place-") as scratch:
            # The other way round: the compiler builds its C libraries once, and neither build waits for the other's.
            return build(commit, Path(scratch) / "deeper" / "down", into, OTHERWISE, tuple(reversed(cross.SYSTEMS)))
    finally:
        os.umask(before)


def start_again(into: Path) -> subprocess.Popen[bytes]:
    """The second build, at the same time as the first: most of a build waits for one core."""
    return subprocess.Popen([sys.executable, "-m", "scripts.release", "--again", str(into)], cwd=ROOT)


def main() -> int:
    """Build, and say what was built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twice", action="store_true", help="build twice; exit 1 if the bytes differ")
    parser.add_argument("--again", metavar="DIR", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        commit = Commit.head()
        if options.again:
            build_again(commit, options.again)
            return 0
        with tempfile.TemporaryDirectory() as elsewhere:
            again = start_again(Path(elsewhere)) if options.twice else None
            try:
                with tempfile.TemporaryDirectory() as scratch:
                    built = build(commit, Path(scratch), ROOT / "dist")
                for path in built:
                    print(f"{path.stat().st_size:12,}  dist/{path.name}")
                if again is None:
                    return 0
                if again.wait():
                    return again.returncode  # it has said why
            finally:
                if again is not None:
                    again.kill()
            different = list(differences(built, sorted(Path(elsewhere).iterdir())))
    except BadBuild as error:
        print(f"release: error: {error}", file=sys.stderr)
        return 2
    print("\n".join(["not reproducible:", *different]) if different else "built twice: the same bytes")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
