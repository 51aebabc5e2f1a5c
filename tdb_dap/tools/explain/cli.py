"""``tdb-dap explain``: an op through all levels, or a command in words."""

from __future__ import annotations

import argparse
import re

from tdb_dap.cli.options import model_arguments


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument(
        "what", metavar="LINE|LOC|B12", nargs="+", help="line of final.mlir, location or command to explain"
    )


def run(arguments: argparse.Namespace) -> int:
    """Explain each. 0: done."""
    from tdb_dap.engine.control.breakpoint_specs import COMMAND, commands_named
    from tdb_dap.engine.program.op_lookup import records_named
    from tdb_dap.tools.explain.command import explain_command
    from tdb_dap.tools.explain.op import explain_op
    from tdb_dap.tools.programs import open_program

    program = open_program(arguments.context, arguments.net, arguments.stage)
    for number, what in enumerate(arguments.what):
        if number:
            print()
        if re.fullmatch(COMMAND, what):
            print("\n\n".join("\n".join(explain_command(program, n)) for n in commands_named(program, what)))
        else:
            for line in sorted({record.line for record in records_named(program.source, what)}):
                print("\n".join(explain_op(program, line)))
    return 0
