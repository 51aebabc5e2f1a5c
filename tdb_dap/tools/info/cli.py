"""``tdb-dap info``: show what a model consists of."""

from __future__ import annotations

import argparse

from tdb_dap.cli.options import model_arguments as arguments

__all__ = ["arguments", "run"]


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    from tdb_dap.tools.info.describing import info

    for line in info(arguments.context, arguments.net, arguments.stage):
        print(line)
    return 0
