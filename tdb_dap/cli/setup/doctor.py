"""``tdb-dap doctor``: what is installed, what is wrong with it, and the command that mends it."""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print the report for programs (fields: docs/install.md)")


def run(arguments: argparse.Namespace) -> int:
    """Look at everything and print it. 0: nothing is wrong; 1: something is."""
    from tdb_dap.cli.setup.doctor_session import session
    from tdb_dap.tools.doctor.examination import examine
    from tdb_dap.tools.doctor.findings import as_json, lines, summary
    from tdb_dap.tools.doctor.installation import Installation

    installation = Installation.here()
    checks = []
    for check in examine(installation, lambda: session(installation)):
        checks.append(check)
        if not arguments.json:
            print("\n".join(lines(check)), flush=True)
    print(as_json(checks) if arguments.json else summary(checks))
    return int(any(check.status == "error" for check in checks))
