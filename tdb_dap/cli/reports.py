"""Reports that subcommands write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.files.atomic_files import refuse_unwritable, write_text
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.tools.findings.baseline import Baseline
    from tdb_dap.tools.findings.findings import Findings

FINDINGS = (".sarif", ".xml")
"""Formats of reports that hold findings as continuous integration takes them: SARIF, and JUnit's."""

_LONGEST = 160
"""Characters of their texts."""

_LISTED = 10
"""Findings of a baseline that are gone and named."""


def refuse(paths: Sequence[Path], formats: Sequence[str]) -> None:
    """BadInput, before anything runs, if a report cannot be written there or has another format than ``formats``."""
    for path in paths:
        if path.suffix not in formats:
            raise BadInput(f"{path}: a report is one of {', '.join(formats)}")
        refuse_unwritable(path)


def findings_text(path: Path, found: Findings) -> str:
    """A report in one of the formats ``FINDINGS``."""
    from tdb_dap.tools.findings.junit import junit
    from tdb_dap.tools.findings.sarif import sarif

    return junit(found) if path.suffix == ".xml" else sarif(found)


def options(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Options for reports in these formats, and for findings that are known already."""
    listed = ", ".join(f"{suffix} (JUnit)" if suffix == ".xml" else suffix for suffix in formats)
    parser.add_argument(
        "--report", metavar="FILE", type=Path, action="append", default=[], help=f"may be repeated: {listed}"
    )
    parser.add_argument(
        "--baseline", metavar="FILE", type=Path, help="findings that are known: only new ones give exit code 1"
    )
    parser.add_argument(
        "--write-baseline",
        metavar="FILE",
        type=Path,
        help="write there all that is found; the exit code is as without it",
    )


def read_known(arguments: argparse.Namespace) -> Baseline | None:
    """The baseline that was given, None without one; BadInput, before anything runs, if one cannot be used."""
    if arguments.write_baseline is not None:
        refuse_unwritable(arguments.write_baseline)
    if arguments.baseline is None:
        return None
    from tdb_dap.tools.findings.baseline import read_baseline

    return read_baseline(arguments.baseline)


def remark_known(arguments: argparse.Namespace, baseline: Baseline | None, found: Findings) -> None:
    """Say what is new, known and gone, if there is a baseline."""
    if baseline is None:
        return
    gone = baseline.gone(found)
    new = len(found.new)
    print(f"baseline: {new:,} new, {len(found.findings) - new:,} known, {len(gone):,} gone")
    if arguments.quiet:
        return
    for known in gone[:_LISTED]:
        text = known.text if len(known.text) <= _LONGEST else f"{known.text[:_LONGEST]}..."
        print(f"tdb-dap: no longer found: {text} [{known.rule}]", file=sys.stderr)
    if gone:
        more = f"{len(gone) - _LISTED:,} more are no longer found; " if len(gone) > _LISTED else ""
        print(f"tdb-dap: {more}--write-baseline {arguments.baseline} forgets them", file=sys.stderr)


def write_known(arguments: argparse.Namespace, found: Findings) -> None:
    """Write the new baseline, if one was asked for."""
    from tdb_dap.tools.findings.baseline import Baseline

    if arguments.write_baseline is not None:
        write_text(arguments.write_baseline, Baseline.of(found).text())
