"""``tdb-dap run``: simulate a model to its end."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdb_dap.cli.options import data_options, given_model, model_arguments
from tdb_dap.cli.progress import Bar
from tdb_dap.engine.files.atomic_files import refuse_unwritable, write_text


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    data_options(parser)
    parser.add_argument("-o", "--outputs", metavar="OUT.npz", type=Path, help="write the outputs, dequantised, by name")
    parser.add_argument("--raw", action="store_true", help="write outputs as stored, not dequantised")
    parser.add_argument(
        "--hashes",
        metavar="FILE",
        type=Path,
        help="write a short hash of each tensor and command; `tdb-dap diff A B` compares two such files",
    )
    parser.add_argument(
        "--fast", action="store_true", help="compute float convolutions and matrix products with BLAS: not exact"
    )
    parser.add_argument(
        "--lenient", action="store_true", help="compute commands that the chip does not have, instead of stopping"
    )


def run(arguments: argparse.Namespace) -> int:
    """Execute every command, write the outputs and print a line for each."""
    import numpy as np

    from tdb_dap.engine.machine.npz import write_npz
    from tdb_dap.tools.run.running import EXPECTED, RunOptions, run

    for path in (arguments.outputs, arguments.hashes):
        if path is not None:
            refuse_unwritable(path)
    options = RunOptions(
        given_model(arguments), arguments.raw, arguments.fast, arguments.hashes is not None, arguments.lenient
    )
    result = run(options, Bar(arguments.quiet, what=""), print)
    if arguments.outputs is not None:
        note = {"__note__": np.array(result.note)} if result.note else {}
        write_npz(arguments.outputs, {**result.outputs, **note})
    if result.log is not None:
        write_text(arguments.hashes, result.log.text)
    for name, text in result.summaries.items():
        print(" ".join(filter(None, (name, text, result.remark, EXPECTED if name in result.expected else ""))))
    if result.compares:
        print(f"lockstep: {result.divergences:,} of {result.commands:,} commands diverge")
    return 1 if result.divergences else 0
