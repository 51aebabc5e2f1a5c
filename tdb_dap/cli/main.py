"""The command ``tdb-dap``."""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from types import ModuleType
from typing import Any, NoReturn

from tdb_dap.cli.standard_streams import ReaderGone, open_closed_descriptors, outlets
from tdb_dap.engine.rendering.printable import quoted, visible
from tdb_dap.errors import TRACEBACKS, BadInput, TdbError, sentence
from tdb_dap.system.confinement import confine
from tdb_dap.system.notices import Once, heard_by
from tdb_dap.version import __version__

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "debug": {
        "debug": ("terminal", "debug a model in the terminal"),
        "demo": ("tools.demo", "debug the bundled sample; needs nothing else"),
        "adapter": ("adapter", "serve the Debug Adapter Protocol, for editors"),
        "lsp": ("language", "serve the Language Server Protocol for final.mlir, for editors"),
        "mcp": ("agent", "serve the Model Context Protocol, for agents"),
    },
    "check": {
        "check": ("tools.check", "compare every op with reference data; find the first at fault"),
        "triage": ("tools.triage", "find the compilation stage and op that went wrong first"),
        "sanitize": ("tools.sanitize", "find wild accesses, uninitialised reads, races and NaNs"),
        "perturb": ("tools.perturb", "find ops that amplify a change of the inputs too much"),
        "diff": ("tools.diff", "compare two compiled models: structure, then values"),
        "llm": ("tools.llm", "run a compiled language model; find its first wrong token and op"),
        "weights": ("tools.weights", "compare a compiled model's weights with those before conversion"),
        "zoo": ("tools.zoo", "check many models; find the build that broke one"),
    },
    "inspect": {
        "info": ("tools.info", "show chip, inputs and outputs, subnets and sizes of a model"),
        "dis": ("tools.disassemble", "print the commands of a model"),
        "explain": ("tools.explain", "explain an op through all levels of compilation, or a command"),
        "graph": ("tools.graph", "draw the ops of a model and the tensors between them"),
        "profile": ("tools.profile", "estimate the time of a model per op and per command"),
        "share": ("tools.share", "write a page that opens a session in any browser"),
        "trace": ("tools.trace", "show values over a whole run, or when and where a condition holds"),
    },
    "write": {
        "run": ("tools.run", "simulate a model and write its outputs"),
        "export": ("tools.export", "write an op or a model as NumPy code that runs without tdb-dap"),
        "reduce": ("tools.reduce", "write the smallest model that still fails"),
        "patch": ("tools.patch", "write a bmodel with changed fields, weights or fewer commands"),
        "import": ("tools.streams", "write a recording of dumped command streams"),
    },
    "run elsewhere": {
        "record": ("backends.recorder", "record a program or a model on the vendor's emulator"),
        "backends": ("backends", "list simulators; fetch the vendor's; serve one to other machines"),
    },
    "set up": {
        "doctor": ("tools.doctor", "check the installation and print the fix"),
        "targets": ("targets", "list supported chips and check their tables"),
        "plugins": ("tools.plugins", "list plugins"),
    },
}
"""Group -> subcommand -> its room of the package, and one line of help.

The module ``cli`` of the room has ``arguments(parser)`` and ``run(arguments)``.
"""

_VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}

COMMANDS = {name: line for name, (_, line) in _VERBS.items()}
"""Subcommand -> one line of help."""

MODULES = {name: f"tdb_dap.{room}.cli" for name, (room, _) in _VERBS.items()}
"""Subcommand -> its module."""

_OWN_TERMINAL = ("adapter", "debug", "demo", "lsp", "mcp")
"""Those that speak a protocol, or draw."""

_ONLY_PRINT = ("info", "dis", "explain")
"""Those that have nothing left to do once nobody reads."""

_WITHOUT_BLAS = ("run", "check", "sanitize", "info", "dis", "explain", "profile", "graph", "export", "patch", "trace")
"""Those that sum in the order of the chip, which is not for BLAS."""
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_OBJECTS_BETWEEN_SEARCHES = 50_000
"""For the garbage collector; Python's own 700 search dozens of times while a model is opened."""

EXIT_ERROR = 2
"""Exit code for everything that the user can put right."""

_LONGEST_ERROR = 300
"""Characters of an error besides the directories that it names."""
_LONGEST_LINE = 1500
_DIRECTORY = re.compile(r"(?:[A-Za-z]:)?[\\/][^\s:;,'\"()]+")


class Help(argparse.HelpFormatter):
    """Usage with what a command needs; the other options are only listed below it."""

    def add_usage(self, usage: Any, actions: Iterable[argparse.Action], groups: Any, prefix: str | None = None) -> None:
        if usage is None and prefix is None:  # with a prefix it is the name of a subcommand
            actions = [action for action in actions if action.required or not action.option_strings]
            self._prog = f"{self._prog} [OPTION ...]"
        super().add_usage(usage, actions, () if prefix is None else groups, prefix)


class _Parser(argparse.ArgumentParser):
    """Reports a wrong command line like every other error: one line."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=Help, **given)

    def error(self, message: str) -> NoReturn:
        unknown = re.search("unrecognized arguments:.*?(--[^ =]+)", message)
        options = [name for name in self._option_string_actions if name != "--help"]  # which is said anyway
        hint = _near(unknown[1], options) if unknown is not None else ""
        raise BadInput(f"{message}{hint}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code. Errors that a user can cause are one line on stderr.

    The exit code is the same if the pipe closes early.
    """
    open_closed_descriptors()
    confine()
    given = list(sys.argv[1:] if argv is None else argv)
    chosen = next(iter(given), "")
    try:
        with outlets(escaped=chosen not in _OWN_TERMINAL, ends=chosen in _ONLY_PRINT):
            return _run(given)
    except ReaderGone:
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not isinstance(error, (TdbError, MemoryError)) and os.environ.get(TRACEBACKS):
            raise
        problem = sentence(error)
    with outlets(escaped=True, ends=False):
        print(f"tdb-dap: error: {_shortened(problem)}", file=sys.stderr, flush=True)
    return EXIT_ERROR


def _run(given: Sequence[str]) -> int:
    name = next(iter(given), "")
    try:
        if name not in COMMANDS:
            return _without_command(given)
        line = COMMANDS[name]
        parser = _Parser(prog=f"tdb-dap {name}", description=f"{line[0].upper()}{line[1:]}.")
        multiplies = name not in _WITHOUT_BLAS or any(word == "--fast" or word.endswith(".onnx") for word in given)
        module = _imported(name, multiplies)
        module.arguments(parser)
        parser.add_argument("--quiet", action="store_true", help="no progress, no notices")
        arguments = _parsed(parser, given[1:])
    except SystemExit as end:  # --help and --version
        return int(end.code or 0)
    with heard_by(Once(_silence if arguments.quiet else _remark)):
        return int(module.run(arguments))


def _imported(name: str, multiplies: bool) -> ModuleType:
    """The module of a subcommand.

    ``multiplies``: by BLAS. Without, NumPy is imported so that it starts no threads, a third of what importing it
    costs; processes that are started later may have them. What is imported stays: a search for garbage in it would
    take a tenth of the time, and find nothing. Of what is made later much stays, too, so the search is a rare one.
    """
    gc.disable()
    try:
        if not (multiplies or _BLAS_THREADS in os.environ or "numpy" in sys.modules):
            os.environ[_BLAS_THREADS] = "1"
            importlib.import_module("numpy")
            del os.environ[_BLAS_THREADS]
        return importlib.import_module(MODULES[name])
    finally:
        if not gc.get_freeze_count():  # once: garbage of an earlier call in this process must not stay for ever
            gc.freeze()
            atexit.register(gc.freeze)  # the interpreter would search all that it is about to give back
        gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES)
        gc.enable()


def _parsed(parser: _Parser, words: Sequence[str]) -> argparse.Namespace:
    """The arguments, with options also between those that may be left out, unless there are further subcommands."""
    try:
        return parser.parse_intermixed_args(words)
    except TypeError:
        return parser.parse_args(words)
    except BadInput as error:
        for words_again in _with_positional(parser, words) if "arguments are required" in str(error) else ():
            with suppress(BadInput):
                return parser.parse_intermixed_args(words_again)
        raise


def _with_positional(parser: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[list[str]]:
    """Command lines whose positional is not the last of several values of an option: ``--reference R.npz CONTEXT``."""
    for start, word in enumerate(words):
        action = parser._option_string_actions.get(word)
        if action is None or action.nargs != "+":
            continue
        values = list(takewhile(lambda value: not value.startswith("-"), words[start + 1 :]))
        if len(values) > 1:
            last = start + len(values)
            yield [*words[:last], *words[last + 1 :], "--", words[last]]


def _without_command(given: Sequence[str]) -> int:
    """Print the overview or the version; BadInput for a subcommand that is missing or unknown."""
    parser = _Parser(prog="tdb-dap", add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--version", action="version", version=f"tdb-dap {__version__}")
    parser.add_argument("subcommand", metavar="COMMAND", nargs="?")
    arguments, others = parser.parse_known_args(given)
    if arguments.help:
        print("\n".join(overview()))
        return 0
    if arguments.subcommand is None:
        raise BadInput("the following arguments are required: COMMAND; see tdb-dap --help")
    if arguments.subcommand in COMMANDS:
        raise BadInput(f"unrecognized arguments: {' '.join(others)}; give COMMAND first; see tdb-dap --help")
    unknown = arguments.subcommand
    raise BadInput(f"argument COMMAND: invalid choice: {quoted(unknown)}{_near(unknown, COMMANDS)}; see tdb-dap --help")


def _near(word: str, known: Iterable[str]) -> str:
    """The known word that an unknown one resembles, as the end of a sentence."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def overview() -> list[str]:
    """Lines of ``tdb-dap --help``: one screen."""
    lines = ["usage: tdb-dap COMMAND [OPTION ...]; tdb-dap COMMAND --help; tdb-dap --version"]
    for group, verbs in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:9} {line}" for name, (_, line) in verbs.items())]
    return lines


def _remark(text: str) -> None:
    print(f"tdb-dap: {text}", file=sys.stderr)


def _silence(text: str) -> None:
    """Drop a remark: ``--quiet``."""


def _shortened(text: str) -> str:
    """One line of limited length: what and where are at the beginning, what to do is at the end.

    Directories of this machine take no room, however deep they are; names in a file do.
    """
    line = visible(" ".join(text.split("\n")))
    deep = sum(len(_existing(path)) for path in _DIRECTORY.findall(line))
    most = min(_LONGEST_ERROR + deep, _LONGEST_LINE) - len("tdb-dap: error: ")
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[5 - most + most // 2 :]}"


def _existing(path: str) -> str:
    """The deepest directory on the way to a path that is there; empty if that is the root."""
    folder = os.path.dirname(path)
    while (above := os.path.dirname(folder)) != folder and not os.path.isdir(folder):
        folder = above
    return folder if above != folder else ""
