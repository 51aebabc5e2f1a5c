"""``tdb-dap export``: an op, or a whole model, as NumPy code that runs without tdb-dap."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.cli.options import INPUTS, given_model, model_arguments
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.op_records import OpRecord


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument(
        "--op",
        metavar="LINE|LOC",
        nargs="+",
        default=[],
        help="export these ops: lines of final.mlir, ranges (20-30) or locations (* allowed); default: the model",
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="new directory for the code")
    parser.add_argument("--inputs", metavar="X", type=Path, help=INPUTS)


def run(arguments: argparse.Namespace) -> int:
    """Simulate up to there, write the folder. 0: done."""
    from tdb_dap.targets.chips.registry import target_for
    from tdb_dap.tools.export.folder import export

    debugger = given_model(arguments).open()
    program = debugger.program
    records = [record for text in arguments.op for record in _records(program, text)]
    title = _title(program, records)
    target = target_for(program.chip, str(arguments.context))
    count = export(debugger, target, records, arguments.output, title)
    print(f"{arguments.output}: {title}: {count:,} commands; python {arguments.output}/test_*.py compares them")
    return 0


def _records(program: Program, text: str) -> list[OpRecord]:
    """Instances of the ops that ``LINE``, ``LINE-LINE`` or a location names."""
    from tdb_dap.engine.program.op_lookup import records_named

    matching = [record for record in records_named(program.source, text) if record.ordinals]
    if not matching:
        raise BadInput(f"{program.context.bmodel}: {text}: no op with commands there")
    return matching


def _title(program: Program, records: list[OpRecord]) -> str:
    lines = sorted({record.line for record in records})
    if not lines:
        return program.net.name
    names = [value.name for record in records for value in record.results]
    return f"{names[0] if names else 'op'}, line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
