"""The command ``tdb-dap``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from tdb_dap import __version__
from tdb_dap.engine.printable import Shown, visible
from tdb_dap.errors import TdbError

COMMANDS = {
    "adapter": "the debug adapter that editors start",
    "info": "chip, inputs and outputs, subnets and sizes of a model",
    "dis": "the commands of a model as text",
    "run": "simulate a model and write its outputs",
    "check": "compare every op with reference data and find the first one at fault",
    "diff": "in what two compiled models differ, and where their values part",
    "profile": "where the time of a model goes, per op and per command",
    "export": "an op or a whole model as NumPy code that runs without tdb-dap",
    "patch": "a copy of a bmodel with other fields, weights or fewer commands",
    "explain": "an op through all levels of compilation, or a command in words",
    "graph": "the ops of a model and what flows between them, as a picture",
    "lsp": "the language server for final.mlir that editors start",
    "sanitize": "find out-of-bounds accesses, unwritten bytes, missing dependencies and more before they do harm",
    "debug": "debug a model in the terminal",
    "backends": "who can execute commands here, and getting the vendor's simulators",
    "targets": "the chips known and a self-check of each",
    "plugins": "what installed packages have added: chips, backends, observers, verbs",
    "demo": "debug the bundled sample; needs nothing else",
}
"""Name -> one line of help; the module of the same name has ``arguments(parser)`` and ``run(arguments)``."""

_OWN_TERMINAL = ("adapter", "debug", "demo", "lsp")
"""Those that speak a protocol, or draw."""

TROUBLE = 2
"""Exit code for everything that the user can put right."""


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line like every other error: one line."""

    def error(self, message: str) -> NoReturn:
        print(f"tdb-dap: error: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(TROUBLE)


@contextmanager
def _shown(is_text: bool) -> Iterator[None]:
    """Inside, names of a model that are printed do nothing to the terminal."""
    streams = sys.stdout, sys.stderr
    if is_text:
        sys.stdout, sys.stderr = Shown(sys.stdout), Shown(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code. Errors that a user can cause are one line on stderr."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = _Parser(prog="tdb-dap", description="Debug compiled Sophgo TPU models.")
    parser.add_argument("--version", action="version", version=f"tdb-dap {__version__}")
    choices = parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True)
    modules = {}
    for name, line in COMMANDS.items():
        sub = choices.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name in given[:1]:  # the other modules are not needed, and importing them takes time
            modules[name] = importlib.import_module(f"tdb_dap.commands.{name}")
            modules[name].arguments(sub)
    arguments = parser.parse_args(given)
    try:
        with _shown(arguments.subcommand not in _OWN_TERMINAL):
            return int(modules[arguments.subcommand].run(arguments))
    except TdbError as error:
        print(f"tdb-dap: error: {visible(str(error))}", file=sys.stderr)
        return TROUBLE
    except MemoryError:
        print("tdb-dap: error: there is not enough memory for this", file=sys.stderr)
        return TROUBLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        return 130
