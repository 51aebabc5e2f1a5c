"""``tdb-dap profile``: where the time of a model goes."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.cli import reports
from tdb_dap.cli.answers import is_asked, open_answer
from tdb_dap.cli.options import model_arguments, prompt_options
from tdb_dap.cli.progress import Bar
from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    prompt_options(parser)
    parser.add_argument("-o", "--output", metavar="TRACE.json", type=Path, help="a trace for Perfetto or Chrome")
    parser.add_argument("--report", metavar="FILE", type=Path, action="append", default=[], help=".json or .md")
    parser.add_argument("--order", choices=("time", "line"), default="time", help="ops by time, or as in final.mlir")
    parser.add_argument("--all", action="store_true", help="list all ops")
    parser.add_argument(
        "--measured",
        metavar="FOLDER",
        type=Path,
        help="bmprofile_data-N that the vendor's runtime left of a run on a board: its times beside those expected",
    )
    parser.add_argument("--estimate", action="store_true", help="do not use the compiler's own figures")
    parser.add_argument(
        "--inputs", metavar="X", type=Path, help="simulate with these, and show what this machine takes"
    )


def run(arguments: argparse.Namespace) -> int:
    """Profile, print, write. 0: done."""
    from tdb_dap.tools.opening import open_program
    from tdb_dap.tools.profile.measured import measured_times
    from tdb_dap.tools.profile.profiling import Costs, Profile
    from tdb_dap.tools.profile.report import report_of
    from tdb_dap.tools.profile.text import MOST_OPS, lines, markdown
    from tdb_dap.tools.profile.trace import trace

    outputs = [arguments.output] if arguments.output is not None else []
    reports.refuse(arguments.report, (".json", ".md"))
    reports.refuse(outputs, (".json",))
    program = (
        open_answer(arguments).program
        if is_asked(arguments)
        else open_program(arguments.context, arguments.net, arguments.stage)
    )
    measured = measured_times(program, arguments.measured) if arguments.measured is not None else None
    bar = Bar(len(program.commands), arguments.quiet)
    profile = Profile(program, not arguments.estimate, bar.update, Costs(program, measured))
    host = _host_times(arguments, bar) if arguments.inputs is not None else None
    bar.clear()
    report = report_of(profile, host)
    print("\n".join(lines(report, arguments.order, None if arguments.all else MOST_OPS)))
    for path in outputs:
        write_text(path, json.dumps(trace(profile), separators=(",", ":")))
    for path in arguments.report:
        write_text(path, report.model_dump_json(indent=1) if path.suffix == ".json" else markdown(report))
    return 0


def _host_times(arguments: argparse.Namespace, bar: Bar) -> dict[int, float]:
    """Milliseconds that this machine takes to simulate each command."""
    from tdb_dap.tools.opening import open_debugger

    debugger: Debugger = open_debugger(
        arguments.context, arguments.inputs, net=arguments.net, stage=arguments.stage, history_limit=0
    )
    found: dict[int, float] = {}
    while not debugger.at_end:
        ordinal = debugger.ordinal
        start = time.perf_counter()
        stop = debugger.step()
        if stop.finding is not None or debugger.ordinal == ordinal:
            raise BadInput(f"{arguments.context}: {stop.text}; leave out --inputs to see the estimates")
        found[ordinal] = (time.perf_counter() - start) * 1e3
        bar.update(ordinal)
    return found
