"""Reports that subcommands write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.files.atomic_files import refuse_unwritable, write_text
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.tools.findings.baseline import Baseline
    from tdb_dap.tools.findings.findings import Findings
    from tdb_dap.tools.report_schema import Reported

FINDINGS = (".sarif", ".xml")
"""Formats of reports that hold findings as continuous integration takes them: SARIF, and JUnit's."""

_LONGEST = 160
"""Characters of their texts."""

_LISTED = 10
"""Findings of a baseline that are gone and named."""


def refuse(paths: Sequence[Path], formats: Sequence[str], baseline: Path | None = None) -> None:
    """BadInput, before anything runs, for a report in another format, and a file that cannot be written."""
    for path in paths:
        if path.suffix not in formats:
            raise BadInput(f"{path}: a report is one of {', '.join(formats)}")
    for path in (*paths, *([baseline] if baseline is not None else [])):
        refuse_unwritable(path)


def write(path: Path, report: Reported, text: Callable[[], str], findings: Findings | None = None) -> None:
    """Write a report: the findings in one of the formats ``FINDINGS``, the report as JSON, else ``text``."""
    if findings is not None and path.suffix in FINDINGS:
        from tdb_dap.tools.findings.junit import junit
        from tdb_dap.tools.findings.sarif import sarif

        write_text(path, junit(findings) if path.suffix == ".xml" else sarif(findings))
    else:
        from tdb_dap.tools.report_schema import json_text

        write_text(path, json_text(report, 1) if path.suffix == ".json" else text())


def report_option(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Option for reports in these formats."""
    listed = ", ".join(f"{suffix} (JUnit)" if suffix == ".xml" else suffix for suffix in formats)
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help=f"write a report: {listed}; may be repeated",
    )


def options(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Options for reports in these formats, and for findings that are known already."""
    report_option(parser, formats)
    parser.add_argument("--baseline", metavar="FILE", type=Path, help="known findings: exit with 1 for new ones only")
    parser.add_argument(
        "--write-baseline",
        metavar="FILE",
        type=Path,
        help="write all findings as the new baseline; exit code unchanged",
    )


def print_known(arguments: argparse.Namespace, baseline: Baseline | None, findings: Findings) -> None:
    """Print what is new, known and gone, if there is a baseline."""
    if baseline is None:
        return
    gone = baseline.gone(findings)
    new = len(findings.new)
    print(f"baseline: {new:,} new, {len(findings.findings) - new:,} known, {len(gone):,} gone")
    if arguments.quiet:
        return
    for known in gone[:_LISTED]:
        text = known.text if len(known.text) <= _LONGEST else f"{known.text[:_LONGEST]}..."
        print(f"tdb-dap: no longer found: {text} [{known.rule}]", file=sys.stderr)
    if gone:
        more = f"{len(gone) - _LISTED:,} more are no longer found; " if len(gone) > _LISTED else ""
        print(f"tdb-dap: {more}--write-baseline {arguments.baseline} forgets them", file=sys.stderr)


def write_known(arguments: argparse.Namespace, findings: Findings) -> None:
    """Write the new baseline, if one was asked for."""
    if arguments.write_baseline is not None:
        from tdb_dap.tools.findings.baseline import Baseline

        write_text(arguments.write_baseline, Baseline.of(findings).text())
