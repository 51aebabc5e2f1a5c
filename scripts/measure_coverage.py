"""Measure how much of the package the default tests reach, in all processes that they start.

    python -m scripts.measure_coverage [TEST ...]

The lines of each file are in build/coverage/html; the total goes into docs/hardening.md if all tests were run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

from scripts import figures

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "build" / "coverage"


def coverage(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "coverage", *arguments], check=True, cwd=ROOT, env=environment())


def environment() -> dict[str, str]:
    """Data of all processes in one place."""
    return {**os.environ, "COVERAGE_FILE": str(DATA / "data")}


def total(report: dict[str, object]) -> str:
    """How much of all files is reached, as a sentence."""
    files: dict[str, dict[str, dict[str, int]]] = report["files"]  # type: ignore[assignment]
    summaries = [file["summary"] for file in files.values()]
    statements, branches = (sum(s[key] for s in summaries) for key in ("num_statements", "num_branches"))
    reached = sum(s["covered_lines"] + s["covered_branches"] for s in summaries)
    share = f"{reached / max(1, statements + branches):.1%}"
    return f"{date.today()}: {share} of {statements:,} lines and {branches:,} branches in {len(files)} files."


def main() -> int:
    """Run the tests, write the page, print the total."""
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
    sentence = total(json.loads((DATA / "report.json").read_text()))
    print(sentence)
    if not arguments.tests:
        figures.write("coverage", [sentence])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
