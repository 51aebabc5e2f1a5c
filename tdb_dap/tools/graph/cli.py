"""``tdb-dap graph``: draw the ops of a model and the tensors between them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.cli import reports
from tdb_dap.cli.options import model_arguments
from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.tools.graph.colours import Colouring


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write .dot, .svg or .html (default: print dot text)"
    )
    parser.add_argument(
        "--color", choices=("dtype", "time"), default="dtype", help="colour ops by dtype (default) or time"
    )
    parser.add_argument("--check", metavar="CHECK.json", type=Path, help="colour ops by the verdicts of a check report")
    parser.add_argument("--weights", action="store_true", help="also show weights")


def run(arguments: argparse.Namespace) -> int:
    """Build, draw, write. 0: done."""
    from tdb_dap.engine.source.op_graph import OpGraph
    from tdb_dap.tools.graph import colours
    from tdb_dap.tools.graph.dot import dot_text
    from tdb_dap.tools.graph.page import html
    from tdb_dap.tools.graph.svg import svg
    from tdb_dap.tools.programs import open_program

    output: Path | None = arguments.output
    if output is not None:
        reports.refuse([output], (".dot", ".svg", ".html"))
    program = open_program(arguments.context, arguments.net, arguments.stage)
    if program.source.mlir is None:
        raise BadInput(f"{arguments.context}: there is no final.mlir, and without it no graph")
    graph = OpGraph.of(program.source.mlir, arguments.weights)
    title = f"{program.net.name}, {program.chip}"
    colouring: Colouring = colours.by_time(program, graph) if arguments.color == "time" else colours.by_dtype
    if arguments.check is not None:
        colouring = colours.by_verdict(arguments.check)
    if output is None:
        sys.stdout.write(dot_text(graph, title, colouring))
        return 0
    if output.suffix == ".dot":
        write_text(output, dot_text(graph, title, colouring))
    else:
        draw = svg if output.suffix == ".svg" else html
        write_text(output, draw(graph, title, colouring))
    print(f"{output}: {len(graph.nodes):,} ops, {len(graph.edges):,} edges")
    return 0
