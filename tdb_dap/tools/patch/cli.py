"""``tdb-dap patch``: a changed copy of a bmodel."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.cli.options import model_arguments
from tdb_dap.engine.control.breakpoint_specs import COMMAND, command_named
from tdb_dap.engine.machine.npz import read_npy, read_npz
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.program.program import Program

_FIELD = re.compile(rf"(?P<command>{COMMAND})\.(?P<field>[^=]+)=(?P<value>\w+)")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument("-o", "--output", metavar="OUT.bmodel", type=Path, required=True, help="write this file")
    parser.add_argument(
        "--set", metavar="B12.FIELD=VALUE", action="append", default=[], help="set a field of a command"
    )
    parser.add_argument(
        "--weight",
        metavar="NAME=NUMBER|FILE.npy|FILE.npz",
        action="append",
        default=[],
        help="replace a weight, by the name of its location",
    )
    parser.add_argument("--until", metavar="LINE|LOC|B12", help="cut the model off after this op or command")


def run(arguments: argparse.Namespace) -> int:
    """Copy, change, say what was changed. 0: done."""
    from tdb_dap.tools.patch.editor import Editor
    from tdb_dap.tools.programs import open_program

    if not (arguments.set or arguments.weight or arguments.until):
        raise BadInput("nothing to change; give --set, --weight or --until")
    if arguments.output.exists():
        raise BadInput(f"{arguments.output}: exists already; choose another name")
    program = open_program(arguments.context, arguments.net, arguments.stage)
    with Editor(program, arguments.output) as editor:
        for text in arguments.set:
            match = _FIELD.fullmatch(text)
            if match is None:
                raise BadInput(f"--set {text}: write B12.opd0_h=7 or c1.D3.FIELD=0x10")
            editor.set_field(match["command"], match["field"], _number(match["value"], text))
        for text in arguments.weight:
            name, equals, what = text.partition("=")
            if not equals:
                raise BadInput(f"--weight {text}: write NAME=NUMBER or NAME=FILE.npy")
            editor.set_weight(name, _numbers(what, name))
        if arguments.until:
            editor.cut(_after(program, arguments.until))
    print("\n".join(f"{arguments.output}: {note}" for note in editor.notes))
    return 0


def _number(text: str, where: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise BadInput(f"--set {where}: {text} is not a whole number") from None


def _numbers(text: str, name: str) -> Array:
    try:
        return np.array(float(text))
    except ValueError:
        pass
    path = Path(text)
    if path.suffix not in (".npy", ".npz") or not path.is_file():
        raise BadInput(f"{text}: neither a number nor a file of numbers (.npy, .npz)")
    if path.suffix == ".npy":
        return read_npy(path)
    arrays = read_npz(path)
    if name not in arrays:
        raise BadInput(f"{text}: holds no array {name!r}; it has {', '.join(list(arrays)[:8])}")
    return arrays[name]


def _after(program: Program, text: str) -> int:
    """The ordinal after an op or a command."""
    from tdb_dap.engine.program.op_lookup import records_named

    if re.fullmatch(COMMAND, text):
        return command_named(program, text) + 1
    return max(record.last for record in records_named(program.source, text) if record.ordinals) + 1
