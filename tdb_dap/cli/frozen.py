"""Entry of the frozen program, which carries its Python: ``tdb-dap``, or what another one asks for."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence

from tdb_dap.cli.main import main
from tdb_dap.system.child_processes import run_requested_module

_WORKER = "--multiprocessing-fork"
_TRACKER = re.compile(r"from multiprocessing\.resource_tracker import main; ?main\((\d+)\)")


def run_part_of_a_pool(arguments: Sequence[str]) -> bool:
    """Be a worker of a pool of processes, or what tracks its resources, if the command line says so; else False.

    ``multiprocessing`` starts these with ``sys.executable``, which is this program. What freezes programs has an answer
    to that, too, but one that imports ``multiprocessing`` at every start.
    https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods
    """
    if arguments[:1] == [_WORKER]:
        from multiprocessing import spawn

        spawn.freeze_support()
        return True
    if arguments[-2:-1] == ["-c"] and (tracker := _TRACKER.fullmatch(arguments[-1])):
        from multiprocessing import resource_tracker

        resource_tracker.main(int(tracker[1]))
        # It has closed standard output, which the program would flush at its end.
        sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.BytesIO())  # type: ignore[misc]
        return True
    return False


if __name__ == "__main__":
    given = sys.argv[1:]
    if not run_part_of_a_pool(given) and not run_requested_module(given):
        sys.exit(main())
