"""``tdb-dap reduce``: write the smallest model that still fails, ready for an issue of the compiler."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "directory",
        metavar="CONTEXT",
        type=Path,
        help="compilation that triage finds wrong: directory where model_deploy was run, or a context directory",
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="new directory for the case")


def run(arguments: argparse.Namespace) -> int:
    """Cut the op out and make it smaller. 0: done; 1: what is left does not fail alone, or that was not shown."""
    from tdb_dap.system.notices import notice
    from tdb_dap.tools.reduce.folder import reduce
    from tdb_dap.tools.reduce.text import fails, lines

    case = reduce(arguments.directory, arguments.output, lambda text: notice(f"tries {text}"))
    print("\n".join(lines(case, arguments.output)))
    return int(not fails(case))
