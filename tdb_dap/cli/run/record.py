"""``tdb-dap record``: record what a program executes on the vendor's emulator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tdb_dap.engine.rendering.printable import counted
from tdb_dap.errors import BadInput, TdbError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "%(prog)s [-h] [-o FILE.tdbrec] [--quiet] -- PROGRAM [ARGUMENTS ...]"
    parser.add_argument(
        "-o", "--output", metavar="FILE.tdbrec", type=Path, help="the recording; default: PROGRAM.tdbrec, here"
    )
    parser.add_argument(
        "command",
        metavar="PROGRAM",
        nargs=argparse.REMAINDER,
        help="the program and its arguments: model_runner, a Python script, anything that uses the vendor's runtime",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the program; returns its exit code."""
    from tdb_dap.backends.recorder.record import record

    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        raise BadInput("no program is given; tdb-dap record -- PROGRAM ARGUMENTS")
    path = arguments.output or Path(f"{Path(command[0]).name}.tdbrec")
    outcome = record(command, path)
    if not outcome.size:
        problem = (
            f"{command[0]}: nothing was recorded: it used no runtime of the vendor's in a way that can be seen; a "
            "program that is linked statically, or that clears LD_PRELOAD, cannot be recorded"
        )
        if outcome.code == 0:
            raise TdbError(problem)
        print(f"tdb-dap: {problem}", file=sys.stderr)
    elif not arguments.quiet:
        if outcome.others:
            print(f"tdb-dap: other processes used the runtime and are not recorded: {outcome.others}", file=sys.stderr)
        print(f"tdb-dap: {path}: {counted(outcome.commands, 'command')}, {outcome.size:,} bytes", file=sys.stderr)
    return outcome.code
