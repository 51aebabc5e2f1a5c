"""``tdb-dap profile``: estimate where the time of a model goes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tdb_dap.cli import reports
from tdb_dap.cli.options import given_model, given_prompt, model_arguments, prompt_options
from tdb_dap.cli.progress import Bar
from tdb_dap.cli.standard_streams import terminal_width
from tdb_dap.engine.files.atomic_files import write_text


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    prompt_options(parser)
    parser.add_argument("-o", "--output", metavar="TRACE.json", type=Path, help="write a trace for Perfetto or Chrome")
    reports.report_option(parser, (".json", ".md"))
    parser.add_argument(
        "--order", choices=("time", "line"), default="time", help="sort ops by time (default), or as in final.mlir"
    )
    parser.add_argument("--all", action="store_true", help="list all ops")
    parser.add_argument(
        "--measured",
        metavar="FOLDER",
        type=Path,
        help="compare with a run on a board: the bmprofile_data-N folder of the vendor's runtime",
    )
    parser.add_argument("--estimate", action="store_true", help="ignore the compiler's own figures")
    parser.add_argument(
        "--inputs", metavar="X", type=Path, help="also simulate with these inputs and show the time on this machine"
    )


def run(arguments: argparse.Namespace) -> int:
    """Profile, print, write. 0: done."""
    from tdb_dap.tools.llm.profiling import with_tokens
    from tdb_dap.tools.profile.report import profiled
    from tdb_dap.tools.profile.text import MOST_OPS, lines, markdown
    from tdb_dap.tools.profile.trace import trace
    from tdb_dap.tools.programs import open_program

    outputs = [arguments.output] if arguments.output is not None else []
    reports.refuse(arguments.report, (".json", ".md"))
    reports.refuse(outputs, (".json",))
    prompt = given_prompt(arguments)
    debugger = prompt.open() if prompt else None
    program = debugger.program if debugger else open_program(arguments.context, arguments.net, arguments.stage)
    simulated = given_model(arguments) if arguments.inputs is not None else None
    bar = Bar(arguments.quiet)
    profile, report = profiled(program, arguments.estimate, arguments.measured, simulated, bar)
    if debugger is not None:
        report = with_tokens(debugger, profile, report)
    print("\n".join(lines(report, arguments.order, None if arguments.all else MOST_OPS, terminal_width())))
    for path in outputs:
        write_text(path, json.dumps(trace(profile), separators=(",", ":")))
    for path in arguments.report:
        reports.write(path, report, lambda: markdown(report))
    return 0
