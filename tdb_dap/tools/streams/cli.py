"""``tdb-dap import``: write a recording of dumped command streams."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tdb_dap.engine.rendering.printable import counted


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "streams",
        metavar="PREFIX",
        type=Path,
        help="files that the vendor's library wrote with FILE_DUMP_CMD=PREFIX: PREFIX.BD.0, PREFIX.GDMA.0, ...; they "
        "hold no memory: the recording can be read, not executed",
    )
    parser.add_argument("--chip", metavar="CHIP", required=True, help="chip of the streams, such as BM1688")
    parser.add_argument(
        "-o", "--output", metavar="FILE.tdbrec", type=Path, help="write this file (default: PREFIX.tdbrec, here)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the recording. 0: done."""
    from tdb_dap.targets.chips.registry import target_for
    from tdb_dap.tools.streams.importing import import_streams

    path = arguments.output or Path(f"{arguments.streams.name}.tdbrec")
    count = import_streams(arguments.streams, target_for(arguments.chip.upper(), "--chip"), path)
    if not arguments.quiet:
        print(f"tdb-dap: {path}: {counted(count, 'command')}, which can be read and not executed", file=sys.stderr)
    return 0
