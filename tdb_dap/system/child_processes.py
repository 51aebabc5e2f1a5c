"""Starting modules of this package in processes of their own."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence

_RUN = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; "
    "import runpy; runpy.run_module({!r}, run_name='__main__', alter_sys=True)"
)

_MODULE = "--run-module"
"""What a frozen program is given in place of a subcommand to run a module."""

_PACKAGE = __name__.partition(".")[0]


def is_frozen() -> bool:
    """Whether this is the frozen program, which carries its Python: ``sys.executable`` is then no interpreter."""
    return bool(getattr(sys, "frozen", False))


def command(module: str) -> tuple[str, ...]:
    """Command that starts a module; arguments are added after it.

    Not ``python -m``: that looks for every module in the working directory first, which may be the directory of a model
    that somebody else has made, with a ``json.py`` in it.
    """
    if is_frozen():
        return sys.executable, _MODULE, module
    return sys.executable, "-c", _RUN.format(module)


def run_requested_module(arguments: Sequence[str]) -> bool:
    """Run the module that a command line of :func:`command` names, in the frozen program; False if it names none.

    ``arguments``: the command line after the program. Only modules of this package are run.
    """
    if len(arguments) < 2 or arguments[0] != _MODULE or arguments[1].partition(".")[0] != _PACKAGE:
        return False
    sys.argv[1:3] = []
    runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    return True
