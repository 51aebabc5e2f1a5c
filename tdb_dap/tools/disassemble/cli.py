"""``tdb-dap dis``: the commands of a model as text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.cli.options import model_arguments
from tdb_dap.engine.files.atomic_files import refuse_unwritable, whole_file
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.errors import BadInput
from tdb_dap.tools.disassemble.vendor_module import vendor_lines

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.hardware.views import Operand
    from tdb_dap.engine.program.program import Program


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument(
        "--format",
        choices=tuple(_FORMATS),
        default="native",
        help="print our listing (native, default), the vendor disassembler's (tdb), or one JSON object a line (json)",
    )
    parser.add_argument("--core", metavar="N", type=int, help="print the commands of this core only")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to this file (default: standard output)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print or write the text."""
    from tdb_dap.tools.programs import open_program

    if arguments.output is not None:
        refuse_unwritable(arguments.output)
    program = open_program(arguments.context, arguments.net, arguments.stage)
    lines = _lines(program, arguments.format, arguments.core)
    if arguments.output is None:
        for line in lines:
            print(line)
        return 0
    with whole_file(arguments.output) as file:
        file.writelines(f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)
    return 0


def _lines(program: Program, form: str, core: int | None) -> Iterator[str]:
    if core is None:
        return _FORMATS[form](program, lambda command: True)
    if form == "tdb":
        raise BadInput("--core: the vendor's text has all cores; leave --format tdb out")
    if not 0 <= core < program.core_count:
        raise BadInput(f"--core {core}: this model runs on {counted(program.core_count, 'core')}, from 0 on")
    return _FORMATS[form](program, lambda command: command.core == core)


def _native(program: Program, is_wanted: Callable[[Command], bool]) -> Iterator[str]:
    listing = program.listing
    for number, text in enumerate(listing.text.splitlines(), 1):
        ordinal = listing.ordinal_at(number)
        if ordinal is None or is_wanted(program.commands[ordinal]):
            yield text


def _json(program: Program, is_wanted: Callable[[Command], bool]) -> Iterator[str]:
    for command in filter(is_wanted, program.commands):
        yield json.dumps(_object(command))


def _vendor(program: Program, is_wanted: Callable[[Command], bool]) -> Iterator[str]:
    return vendor_lines(program)


_FORMATS = {"native": _native, "tdb": _vendor, "json": _json}


def _object(command: Command) -> dict[str, Any]:
    return {
        "ordinal": command.ordinal,
        "subnet": command.subnet,
        "core": command.core,
        "engine": command.engine,
        "name": command.name,
        "id": command.id,
        "waits_for": command.dep,
        "lines": list(command.mlir_lines),
        "operands": _operands(command.operand_roles, command.operands),
        "results": _operands(command.result_roles, command.results),
        "attributes": {name: _plain(value) for name, value in command.attributes.items()},
        "fields": {name: int(number) for name, number in command.fields.items()},
        "bytes": command.descriptor.hex(),
    }


def _operands(roles: tuple[str, ...], operands: tuple[Operand, ...]) -> list[dict[str, Any]]:
    return [
        {"role": role, "name": f"%{operand.name}", "type": operand.memref}
        for role, operand in zip(roles, operands, strict=True)
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, list)) else str(value)
