"""``tdb-dap share``: a session as a page that opens in any browser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tdb_dap.cli.options import context_argument
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice

ENGINE = "TDB_DAP_ENGINE"
"""The variable that names the engine for browsers."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    context_argument(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER|FILE.html", type=Path, help="where to write the page")
    parser.add_argument(
        "--inputs",
        metavar="X",
        type=Path,
        help=".npz by input name, .npy or raw .dat, to share as well (default: zeros)",
    )
    parser.add_argument("--reference", metavar="R.npz", type=Path, help="expected values, to share as well")
    parser.add_argument(
        "--at", metavar="N", type=int, default=0, help="open at the moment when N commands are executed"
    )
    parser.add_argument(
        "--bookmark", metavar="NAME=N", action="append", default=[], help="mark a moment; may be repeated"
    )
    parser.add_argument(
        "--engine",
        metavar="FOLDER",
        type=Path,
        help=f"the engine for browsers, a part of each release (default: {ENGINE})",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--no-weights",
        action="store_true",
        help="share structure, hashes and statistics only, without the model and an engine",
    )
    what.add_argument(
        "--with-weights", action="store_true", help="agree to put the model and these files into the page"
    )


def run(arguments: argparse.Namespace) -> int:
    """Say what the page holds, and write it. 0: written."""
    from tdb_dap.engine.files.atomic_files import refuse_unwritable
    from tdb_dap.tools.programs import open_program
    from tdb_dap.tools.share.sharing import contents, parts, write

    output: Path | None = arguments.output
    if output is None:
        raise BadInput("--output: give a folder or an .html file to write the page to")
    if output.is_dir() and (output.suffix == ".html" or any(output.iterdir())):
        raise BadInput(f"{output}: is a folder that is not empty; give another one")
    if not output.is_dir():
        refuse_unwritable(output)
    if arguments.no_weights:
        return _summarise(arguments, output)
    program = open_program(arguments.context)
    program.require_ordinal(arguments.at)
    marks = dict(_mark(text, len(program.commands)) for text in arguments.bookmark)
    chosen = parts(arguments.context, arguments.inputs, arguments.reference)
    print("\n".join(contents(chosen)))
    if not arguments.with_weights:
        raise BadInput(
            "whoever has the page has all of that, weights included; give --with-weights to agree, or --no-weights; "
            "nothing is written"
        )
    given = arguments.engine or (Path(os.environ[ENGINE]) if os.environ.get(ENGINE) else None)
    if given is None:
        raise BadInput(f"--engine: give the folder of the engine for browsers, or set {ENGINE}")
    size = write(chosen, given, output, arguments.at, marks)
    if arguments.inputs is None and program.inputs and not program.brings_inputs:
        notice("no --inputs given: in the page all inputs are zero")
    if output.suffix == ".html":
        print(f"{output}: {size:,} bytes; open it in a browser")
    else:
        print(f"{output / 'index.html'}: {size:,} bytes; serve the folder, for instance: python -m http.server")
    return 0


def _summarise(arguments: argparse.Namespace, output: Path) -> int:
    """Write the page without the model. 0: written."""
    from tdb_dap.engine.files.atomic_files import write_text
    from tdb_dap.tools.share.summary import page

    if output.suffix != ".html":
        raise BadInput("--no-weights writes one file: give -o FILE.html")
    if arguments.at or arguments.bookmark or arguments.reference:
        raise BadInput("--no-weights has no moments and compares nothing: leave --at, --bookmark and --reference out")
    write_text(output, page(arguments.context, arguments.inputs))
    print(f"{output}: {output.stat().st_size:,} bytes; ops, hashes and statistics, no weights")
    return 0


def _mark(text: str, commands: int) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name or not number.isdecimal() or len(number) > len(str(commands)) or int(number) > commands:
        raise BadInput(f"--bookmark {text[:60]}: write NAME=N, N from 0 to {commands:,}")
    return name, int(number)
