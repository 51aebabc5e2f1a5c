"""Debug compiled Sophgo TPU models.

import tdb_dap
debugger = tdb_dap.open("context_directory", inputs="input.npz")
debugger.run()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.notebook import InteractiveDebugger

__all__ = ["__version__", "open"]


def open(
    context: str | PathLike[str],
    inputs: str | PathLike[str] | None = None,
    reference: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    backend: str = "numpy",
    static_tables: str = "firmware",
    progress: Callable[[str], None] | None = None,
    cmodel_path: str | PathLike[str] | None = None,
    net: str | None = None,
    stage: int | None = None,
    backend_token: str | None = None,
    recording: str | PathLike[str] | None = None,
) -> InteractiveDebugger:
    """Open a compiled model or a recording for debugging; ``with tdb_dap.open(...) as dbg:`` closes it again.

    ``context``: the compiler's context directory, a bmodel, or a recording (``.tdbrec``); ``inputs``: npz by input
    name, or raw ``.dat`` (default: those next to the model, else zeros); ``reference``: npz files to compare with
    (default: that next to the model); ``static_tables``: ``firmware`` fills the static memory as the chip's firmware
    does, ``tdb`` as the vendor debugger does; ``progress``: receives what is being done; ``backend``: ``numpy``,
    ``cmodel`` (the vendor's simulator), ``lockstep`` (both, compared), ``remote:HOST:PORT`` (what ``tdb-dap backends
    serve`` offers there; ``backend_token``: the token that it was started with) or what an installed package brings;
    ``cmodel_path``: the directory of the vendor's libraries, default: where ``tdb-dap backends`` finds them; ``net``,
    ``stage``: which net (default: the first) and which of its stages (default: the one that takes the inputs) of a
    file that holds several; ``recording``: of a run of the model, for its dynamic subnets, or ``remote:HOST:PORT`` of
    a machine that makes one.
    Observers that installed packages bring take part (``tdb_dap.system.plugins``). Raises BadInput with one line
    that says what, where and what to do.
    """
    from tdb_dap.engine.control.plugin_observers import add_observers
    from tdb_dap.notebook import InteractiveDebugger
    from tdb_dap.tools.opening import open_debugger

    debugger = open_debugger(
        context,
        inputs,
        reference,
        backend,
        static_tables,
        progress,
        cmodel_path=cmodel_path,
        net=net,
        stage=stage,
        backend_token=backend_token,
        recording=recording,
        make=InteractiveDebugger,
    )
    assert isinstance(debugger, InteractiveDebugger)
    add_observers(debugger)
    return debugger
