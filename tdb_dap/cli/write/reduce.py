"""``tdb-dap reduce``: the smallest model that still fails, ready for an issue of the compiler."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "directory",
        metavar="CONTEXT",
        type=Path,
        help="a compilation in which triage finds something wrong: where model_deploy was run, or a context directory",
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="a new directory")


def run(arguments: argparse.Namespace) -> int:
    """Cut the op out, and compile it if the compiler is here. 0: done; 1: compiled alone it does not fail."""
    from tdb_dap.tools.reduce.folder import reduce

    found = reduce(arguments.directory, arguments.output)
    ops = ", ".join(found.ops)
    print(f"{arguments.output}: {len(found.ops)} of {found.before} ops ({ops})")
    if found.found is not None:
        print(f"still fails: {found.found.sentence}")
        return 0
    if shutil.which("model_deploy") is None:
        print("not compiled: model_deploy is not here; run reproduce.sh where it is, then tdb-dap triage")
        return 0
    print(f"could not be reduced: up to {len(found.ops)} ops compiled alone do not fail like the whole model")
    return 1
