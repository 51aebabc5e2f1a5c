"""Compare the estimates of time with the compiler's own figures, for many models.

    python -m scripts.compare_timing FOLDER... [--write]

FOLDER: of contexts, such as tests/data. Models in which the compiler has left no figures are passed over. ``--write``
puts the table into docs/profile.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts import figures
from tdb_dap.errors import TdbError
from tdb_dap.tools.profile.comparing import compare
from tdb_dap.tools.profile.profiling import Profile
from tdb_dap.tools.profile.schema import Comparison
from tdb_dap.tools.programs import open_program

LEAST_RANK, LARGEST_RATIO = 0.9, 2.0

Row = tuple[str, str, Comparison]


def is_near(found: Comparison) -> bool:
    """Ranks alike, sum and whole within a factor of two."""
    factors = (found.ratio, found.total)
    return found.rank >= LEAST_RANK and all(1 / LARGEST_RATIO <= factor <= LARGEST_RATIO for factor in factors)


def rows(folders: list[Path]) -> Iterator[Row]:
    """Chip, model and comparison."""
    for path in sorted(p.parent for folder in folders for p in folder.glob("**/compilation.bmodel*")):
        try:
            program = open_program(path)
            found = compare(Profile(program))
        except TdbError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        if found is not None:
            print(f"{path.name:36} {found}", flush=True)
            yield program.chip, path.name, found


def table(found: list[Row]) -> list[str]:
    """Markdown: a line per chip, then the models that are not near."""
    lines = [
        "| chip | models | commands | rank correlation, median (least) | sum, median (least to most) | whole |",
        "|---|---|---|---|---|---|",
    ]
    for chip in sorted({chip for chip, _, _ in found}):
        those = [comparison for name, _, comparison in found if name == chip]
        ranks = [c.rank for c in those]
        commands = sum(c.commands for c in those)
        cells = [f"{statistics.median(ranks):.3f} ({min(ranks):.3f})"]
        for numbers in ([c.ratio for c in those], [c.total for c in those]):
            cells.append(f"{statistics.median(numbers):.2f} ({min(numbers):.2f} to {max(numbers):.2f})")
        lines.append(f"| {chip} | {len(those)} | {commands:,} | {' | '.join(cells)} |")
    far = [(name, c) for _, name, c in found if not is_near(c)]
    near = (
        f"{len(found) - len(far)} of {len(found)} models have a rank correlation of at least {LEAST_RANK} and a sum and"
    )
    lines += ["", f"{near} a whole within a factor of two."]
    if far:
        lines += ["The others: " + "; ".join(f"{n} (rank {c.rank:.2f}, sum {c.ratio:.2f})" for n, c in far) + "."]
    return lines


def main() -> int:
    """Print the table, and write it into a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="put the table into docs/profile.md")
    arguments = parser.parse_args()
    found = list(rows(arguments.folders))
    lines = table(found)
    print("\n".join(lines))
    if arguments.write:
        figures.write("timing", lines)
    return int(not all(is_near(c) for _, _, c in found))


if __name__ == "__main__":
    sys.exit(main())
