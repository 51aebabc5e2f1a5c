"""Record which tests `make test` leaves out because they take long: tests/slow.txt.

python -m pytest -n 2 tests examples --durations=0 > FILE
python -m scripts.record_slow_tests FILE

FILE: what pytest prints, measured where nothing else runs. All cases of a test function count together.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from scripts.generated import ROOT

SLOW = ROOT / "tests" / "slow.txt"
_SECONDS = 0.7
_LINE = re.compile(r"([0-9.]+)s (?:call|setup|teardown) +([^\[\s]+)")


def slow_tests(lines: list[str], seconds: float) -> list[str]:
    """Names of the test functions that take more seconds than these, sorted."""
    taken: Counter[str] = Counter()
    for match in filter(None, map(_LINE.match, lines)):
        taken[match[2]] += float(match[1])  # type: ignore[assignment]
    return sorted(name for name, total in taken.items() if total > seconds)


def main() -> int:
    """Write the list, and print how long it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="default: %(default)s")
    arguments = parser.parse_args()
    names = slow_tests(arguments.file.read_text("utf-8", "replace").splitlines(), arguments.seconds)
    if not names:
        print(f"{arguments.file}: no durations; give pytest --durations=0", file=sys.stderr)
        return 2
    SLOW.write_text("\n".join(names) + "\n", "utf-8")
    print(f"{SLOW.relative_to(ROOT)}: {len(names)} test functions of more than {arguments.seconds:g} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
