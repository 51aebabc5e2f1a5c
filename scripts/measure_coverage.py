"""Measure how much of the package the default tests reach, in all processes that they start.

    python -m scripts.measure_coverage [TEST ...]

Lines are in build/coverage/html; the table goes into docs/hardening.md if all tests were run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from scripts import figures

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "build" / "coverage"


def coverage(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "coverage", *arguments], check=True, cwd=ROOT, env=environment())


def environment() -> dict[str, str]:
    """Data of all processes in one place."""
    return {**os.environ, "COVERAGE_FILE": str(DATA / "data")}


def part_of(file: str) -> str:
    """``tdb_dap/engine`` for a file in it or below, ``tdb_dap`` for one at the top."""
    return "/".join(Path(file).parts[:-1][:2])


def table(report: dict[str, object]) -> list[str]:
    """Markdown: a row per part, then the files of which less than three quarters are reached."""
    files: dict[str, dict[str, dict[str, int]]] = report["files"]  # type: ignore[assignment]
    parts: dict[str, list[dict[str, int]]] = defaultdict(list)
    for name, file in files.items():
        parts[part_of(name)].append(file["summary"])
    lines = ["| part | files | lines | branches | reached |", "|---|---:|---:|---:|---:|"]

    def row(name: str, of: list[dict[str, int]]) -> str:
        statements, branches = sum(s["num_statements"] for s in of), sum(s["num_branches"] for s in of)
        reached = sum(s["covered_lines"] + s["covered_branches"] for s in of)
        return f"| {name} | {len(of)} | {statements:,} | {branches:,} | {reached / max(1, statements + branches):.1%} |"

    lines += [row(name, parts[name]) for name in sorted(parts)]
    lines.append(row("**all**", [summary for part in parts.values() for summary in part]))
    poor = sorted((file["summary"]["percent_covered"], name) for name, file in files.items())
    told = [f"`{name}` ({percent:.0f} %)" for percent, name in poor if percent < 75]
    return [*lines, "", f"Below three quarters: {', '.join(told) or 'none'}."]


def main() -> int:
    """Run the tests, write the pages, print the total."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tests", nargs="*", metavar="TEST", help="default: all")
    arguments = parser.parse_args()
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    tests = [sys.executable, "-m", "pytest", "-n", "auto", "--cov", "--cov-report=", *arguments.tests]
    done = subprocess.run(tests, cwd=ROOT, env=environment())
    if any(DATA.glob("data.*")):
        coverage("combine", "--append", "--quiet")
    coverage("html", "--quiet")
    coverage("json", "--quiet", "-o", str(DATA / "report.json"))
    lines = table(json.loads((DATA / "report.json").read_text()))
    print("\n".join(lines))
    if not arguments.tests:
        figures.write("coverage", lines)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
