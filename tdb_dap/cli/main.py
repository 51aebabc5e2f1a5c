"""The command ``tdb-dap``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tdb_dap.cli.standard_streams import ReaderGone, open_closed_descriptors, outlets
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.remarks import Once, heard_by
from tdb_dap.version import __version__

_SUBCOMMANDS = (
    ("debug", "adapter", "the debug adapter that editors start"),
    ("inspect", "info", "chip, inputs and outputs, subnets and sizes of a model"),
    ("inspect", "dis", "the commands of a model as text"),
    ("run", "run", "simulate a model and write its outputs"),
    ("run", "check", "compare every op with reference data and find the first one at fault"),
    ("run", "triage", "which stage of a compilation went wrong first, which op, and whether it is a bug"),
    ("inspect", "diff", "in what two compiled models differ, and where their values part"),
    ("run", "record", "record what a program executes on the vendor's emulator"),
    ("run", "profile", "where the time of a model goes, per op and per command"),
    ("write", "export", "an op or a whole model as NumPy code that runs without tdb-dap"),
    ("write", "reduce", "the smallest model that still fails, ready for an issue of the compiler"),
    ("write", "patch", "a copy of a bmodel with other fields, weights or fewer commands"),
    ("inspect", "explain", "an op through all levels of compilation, or a command in words"),
    ("inspect", "graph", "the ops of a model and what flows between them, as a picture"),
    ("debug", "lsp", "the language server for final.mlir that editors start"),
    (
        "run",
        "sanitize",
        "find out-of-bounds accesses, unwritten bytes, missing dependencies and more",
    ),
    ("run", "zoo", "many models at once: run them, compare with the last time, find the build that broke one"),
    ("run", "llm", "a compiled language model answers a prompt; the first wrong token, block and op"),
    ("debug", "debug", "debug a model in the terminal"),
    ("debug", "mcp", "the server through which agents debug a model"),
    ("setup", "doctor", "what is installed, what is wrong with it, and the command that mends it"),
    ("setup", "backends", "which simulators can execute commands here, and getting those of the vendor"),
    ("setup", "targets", "the chips known and a self-check of each"),
    ("setup", "plugins", "what installed packages have added: chips, backends, observers, verbs"),
    ("debug", "demo", "debug the bundled sample; needs nothing else"),
)
"""Folder in this package, name, and one line of help.

The module of a name has ``arguments(parser)`` and ``run(arguments)``.
"""

COMMANDS = {name: line for _, name, line in _SUBCOMMANDS}
"""Subcommand -> one line of help."""

MODULES = {name: f"tdb_dap.cli.{folder}.{name}" for folder, name, _ in _SUBCOMMANDS}
"""Subcommand -> its module."""

_OWN_TERMINAL = ("adapter", "debug", "demo", "lsp", "mcp")
"""Those that speak a protocol, or draw."""

_ONLY_PRINT = ("info", "dis", "explain")
"""Those that have nothing left to do once nobody reads."""

EXIT_ERROR = 2
"""Exit code for everything that the user can put right."""


_LONGEST_ERROR = 300

_TRACEBACKS = "TDB_DAP_TRACEBACK"
"""The variable of the environment that lets internal errors show where they come from."""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line like every other error: one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code. Errors that a user can cause are one line on stderr.

    The code is that of what was found, whether or not somebody reads what is printed.
    """
    open_closed_descriptors()
    given = list(sys.argv[1:] if argv is None else argv)
    chosen = next(iter(given), "")
    problem = ""
    try:
        with outlets(escaped=chosen not in _OWN_TERMINAL, ends=chosen in _ONLY_PRINT):
            return _run(given)
    except ReaderGone:
        return 0
    except KeyboardInterrupt:
        return 130
    except TdbError as error:
        problem = str(error)
    except MemoryError:
        problem = "there is not enough memory for this"
    except Exception as error:
        if os.environ.get(_TRACEBACKS):
            raise
        if isinstance(error, ImportError) and not (error.name or "").startswith("tdb_dap"):
            problem = f"{error}; `tdb-dap doctor` says what mends it"
        else:
            problem = f"internal error, please report it: {type(error).__name__}: {error} ({_place(error)})"
    with outlets(escaped=True, ends=False):
        print(f"tdb-dap: error: {_shortened(problem)}", file=sys.stderr, flush=True)
    return EXIT_ERROR


def _run(given: Sequence[str]) -> int:
    parser = _Parser(prog="tdb-dap", description="Debug compiled Sophgo TPU models.")
    parser.add_argument("--version", action="version", version=f"tdb-dap {__version__}")
    choices = parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True)
    modules = {}
    for name, line in COMMANDS.items():
        sub = choices.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name in given[:1]:  # the other modules are not needed, and importing them takes time
            modules[name] = importlib.import_module(MODULES[name])
            modules[name].arguments(sub)
            sub.add_argument("--quiet", action="store_true", help="show no progress and no remarks")
    try:
        arguments = parser.parse_args(given)
    except SystemExit as end:  # --help and --version
        return int(end.code or 0)
    with heard_by(Once(_silence if arguments.quiet else _remark)):
        return int(modules[arguments.subcommand].run(arguments))


def _remark(text: str) -> None:
    print(f"tdb-dap: {text}", file=sys.stderr)


def _silence(text: str) -> None:
    """Drop a remark: ``--quiet``."""


def _shortened(text: str) -> str:
    """One line of limited length: what and where are at the beginning, what to do is at the end."""
    line = visible(" ".join(text.split("\n")))
    most = _LONGEST_ERROR - len("tdb-dap: error: ")
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[5 - most + most // 2 :]}"


def _place(error: Exception) -> str:
    """File and line at which an exception was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}; {_TRACEBACKS}=1 shows more" if frames else ""
