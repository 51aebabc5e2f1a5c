"""Entry of the frozen program, which carries its Python: ``tdb-dap``, or a module that another one asks for."""

from __future__ import annotations

import multiprocessing
import sys

from tdb_dap.cli.main import main
from tdb_dap.system.child_processes import run_requested_module

if __name__ == "__main__":
    # Workers of a pool are this program started again: https://docs.python.org/3/library/multiprocessing.html
    multiprocessing.freeze_support()
    if not run_requested_module(sys.argv[1:]):
        sys.exit(main())
