"""Starting modules of this package in processes of their own."""

from __future__ import annotations

import sys

_RUN = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; "
    "import runpy; runpy.run_module({!r}, run_name='__main__', alter_sys=True)"
)


def command(module: str) -> tuple[str, ...]:
    """Command that starts a module; arguments are added after it.

    Not ``python -m``: that looks for every module in the working directory first, which may be the directory of a model
    that somebody else has made, with a ``json.py`` in it.
    """
    return sys.executable, "-c", _RUN.format(module)
