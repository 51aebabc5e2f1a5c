"""Confines a process to files below some directories: what it finds next to a model may be a link to anywhere.

Every file that Python opens and every directory that it lists counts, whoever names it: the files of a model are found
by a dozen rules, and one that is forgotten would be a way out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tdb_dap.errors import BadInput
from tdb_dap.system.user_directories import cache_directory, state_directory

VARIABLE = "TDB_DAP_READ_BELOW"
"""Environment variable: directories, with the system's separator between them."""

_OF_SYSTEM = (
    "/dev/null",
    "/dev/urandom",
    "/dev/shm/",
    "/proc/self/",
    "/etc/localtime",
    "/lib",
    "/usr/lib",
    "/usr/share",
)
_EVENTS = frozenset({"open", "os.listdir", "os.scandir"})


def environment(roots: Iterable[Path]) -> dict[str, str]:
    """The environment of a process that is to be confined to these directories."""
    return {**os.environ, VARIABLE: os.pathsep.join(str(root) for root in roots)}


def confine(variables: Mapping[str, str] = os.environ) -> None:
    """Confine this process, for good, to the directories in the environment, if there are any.

    Python and this package, and directories of their own, stay readable. BadInput where another file is opened.
    """
    text = variables.get(VARIABLE)
    if not text:
        return
    import tempfile

    roots = [os.path.realpath(root) for root in text.split(os.pathsep)]
    named = " or ".join(text.split(os.pathsep))
    own = [sys.prefix, sys.base_prefix, *[folder for folder in sys.path if folder], str(Path(__file__).parents[1])]
    below = tuple(f"{path}{os.sep}" for path in (*roots, *map(os.path.realpath, own)))
    kept = tuple(f"{os.path.realpath(path)}{os.sep}" for path in (cache_directory(), state_directory()))
    scratch = os.path.join(os.path.realpath(tempfile.gettempdir()), "tdb-dap-")
    system = (*_OF_SYSTEM, f"/proc/{os.getpid()}/")

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _EVENTS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        if event == "open" and len(arguments) > 2 and _makes(arguments[2]):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if not f"{path}{os.sep}".startswith((*below, *kept, scratch, *system)):
            raise BadInput(f"{os.fsdecode(arguments[0])}: leads out of {named}, which this server may read")

    sys.addaudithook(check)


def _makes(flags: int) -> bool:
    """Whether a file that is opened with these flags is a new one."""
    is_nameless = flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1)
    return is_nameless or flags & (os.O_CREAT | os.O_EXCL) == os.O_CREAT | os.O_EXCL
