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
    """Cut the op out and make it smaller. 0: done; 1: what is left does not fail alone, or that was not shown."""
    from tdb_dap.system.remarks import remark
    from tdb_dap.tools.reduce.folder import RECORDED, reduce

    found = reduce(arguments.directory, arguments.output, lambda text: remark(f"tries {text}"))
    ops = ", ".join(found.ops)
    if found.sliced is not None:
        left = found.sliced
        print(
            f"{arguments.output}: {left.opcode}, {left.own:,} commands; {left.commands:,} of {left.before:,} with all"
        )
        alone = "; compiled alone it does not fail" if shutil.which("model_deploy") is not None else ""
        print(f"still fails: the op has the numbers that it has in the whole bmodel{alone}")
        return 0
    level = "tpu" if found.level == RECORDED else found.level
    print(f"{arguments.output}: {len(found.ops)} of {found.before} ops ({ops}), cut out of stage {level}")
    if found.found is not None:
        if found.level == RECORDED:
            print(f"fails with the numbers that the whole model had, not computed again: {found.found.sentence}")
            return 1
        print(f"{found.sizes[1]:,} of {found.sizes[0]:,} elements of its inputs; {found.trials} cases were tried")
        print(f"still fails: {found.found.sentence}")
        return 0
    if shutil.which("model_deploy") is None:
        print("not compiled: model_deploy is not here; run reproduce.sh where it is, then tdb-dap triage")
    else:
        print("could not be reduced: up to 3 ops of any stage do not fail alone like the whole model")
    return 1
