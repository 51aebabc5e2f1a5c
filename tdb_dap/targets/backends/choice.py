"""From the name of a backend to the backend."""

from __future__ import annotations

from pathlib import Path

from tdb_dap.engine.backend import Backend, InProcess
from tdb_dap.engine.program import Program
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.plugins import plugins
from tdb_dap.targets.registry import target_for

BACKENDS = {
    "numpy": "the built-in simulator",
    "cmodel": "the vendor's simulator, in a process of its own",
    "lockstep": "both, compared after every command",
}
"""Name -> what it is."""


def make_backend(name: str, program: Program, cmodel_path: Path | None = None) -> Backend:
    """The backend for a program; BadInput if it is not known or its library is not there.

    ``cmodel_path``: where the vendor's libraries are; None: where they usually are.
    """
    if name not in BACKENDS:
        return _of_plugin(name, program)
    chip = target_for(program.chip, str(program.context.bmodel))
    own = InProcess(program.target)
    if name == "numpy":
        return own
    from tdb_dap.targets.backends.cmodel import Lockstep, VendorBackend
    from tdb_dap.targets.backends.discovery import library_of

    vendor = VendorBackend(chip, library_of(chip, cmodel_path))
    return vendor if name == "cmodel" else Lockstep(own, vendor)


def _of_plugin(name: str, program: Program) -> Backend:
    """A backend that an installed package brings: what its entry point names is called with the program."""
    found = {plugin.name: plugin for plugin in plugins("backends")}
    if name not in found:
        raise BadInput(f"backend {name!r} is not known; there are {', '.join([*BACKENDS, *found])}")
    plugin = found[name]
    if plugin.problem:
        raise BadInput(f"{plugin.title} {plugin.problem}")
    try:
        backend: Backend = plugin.loaded(program)
    except TdbError:
        raise
    except Exception as error:
        raise BadInput(f"{plugin.title}: {type(error).__name__}: {error}") from error
    return backend
