"""``tdb-dap trace``: values of expressions over a whole run, and other questions about all of its moments."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.cli.options import data_options, given_model, given_prompt, model_arguments, prompt_options
from tdb_dap.cli.progress import Bar
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument(
        "point",
        metavar="POINT",
        nargs="?",
        help="what to trace: EXPRESSION [, EXPRESSION] [at PLACE] [if CONDITION], such as "
        "'max(out[0]) at tpu.Conv2D'; without a place at every op",
    )
    parser.add_argument("--when", metavar="CONDITION", help="print when a condition turns true, and false again")
    parser.add_argument("--where", metavar="CONDITION", help="list the tensors x with a property: max(abs(x)) > 6e4")
    parser.add_argument(
        "--history", metavar="PLACE", help="list all contents of a tensor or an address: R0x1000:f32[16]"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write a trace to .csv, .parquet or .html (default: print)"
    )
    parser.add_argument("--all", action="store_true", help="print every row, not only the first 40")
    data_options(parser)
    prompt_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the answer. 0: the whole run was looked at; 1: it ends early."""
    from tdb_dap.engine.files.atomic_files import refuse_unwritable
    from tdb_dap.tools.trace.files import FORMATS

    questions = [name for name in ("point", "when", "where", "history") if getattr(arguments, name)]
    if len(questions) != 1:
        raise BadInput("give one question: POINT, --when, --where or --history; see tdb-dap trace --help")
    output: Path | None = arguments.output
    if output is not None:
        if questions != ["point"]:
            raise BadInput(f"--output writes a trace: with --{questions[0]} the answer is printed")
        if output.suffix not in FORMATS:
            raise BadInput(f"{output}: a trace is written to one of {', '.join(FORMATS)}")
        refuse_unwritable(output)
    prompt = given_prompt(arguments)
    opened = (prompt or given_model(arguments)).open()
    if prompt is None and not opened.machine.inputs and opened.program.inputs:
        notice("no --inputs given: all inputs are zero")
    bar = Bar(arguments.quiet, " executed")
    bar.start(len(opened.program.commands))
    try:
        lines, stopped = _answer(arguments, opened, bar)
    finally:
        bar.clear()
        opened.close()
    print("\n".join(lines))
    return int(bool(stopped))


def _answer(arguments: argparse.Namespace, debugger: Debugger, bar: Bar) -> tuple[Iterable[str], str]:
    """Lines to print, and why the run ended early."""
    from tdb_dap.engine.expressions.assignment import part_named
    from tdb_dap.engine.questions.search import search
    from tdb_dap.engine.questions.trace_points import parse
    from tdb_dap.engine.questions.tracing import trace
    from tdb_dap.engine.questions.turning import turns
    from tdb_dap.engine.questions.versions import history
    from tdb_dap.tools.trace import text
    from tdb_dap.tools.trace.files import write

    inspector, limit = debugger.inspector, None if arguments.all else text.LISTED
    if arguments.when:
        turned = turns(inspector, arguments.when, bar.update)
        return list(text.turns_lines(turned, limit)), turned.stopped
    if arguments.where:
        matching = search(inspector, arguments.where, bar.update)
        return list(text.search_lines(matching, limit)), matching.stopped
    if arguments.history:
        held = history(inspector, part_named(arguments.history, inspector.scope()), bar.update)
        return list(text.history_lines(held, limit)), held.stopped
    traced = trace(inspector, parse(arguments.point), bar.update)
    if arguments.output is None:
        return list(text.trace_lines(traced, limit)), traced.stopped
    write(traced, arguments.output)
    return [f"{arguments.output}: {len(traced.hits):,} hits", *traced.remarks], traced.stopped
