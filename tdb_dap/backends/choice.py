"""From the name of a backend to the backend."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.target import Target
from tdb_dap.engine.machine.backend import Backend, InProcess
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.plugins import plugins
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import target_for

if TYPE_CHECKING:
    from tdb_dap.backends.cmodel import VendorBackend

BACKENDS = {
    "numpy": "the built-in simulator",
    "cmodel": "the vendor's simulator, in its own process",
    "lockstep": "both, compared after every command",
}
"""Name -> what it is."""


REMOTE = "remote:"
"""What the name of a backend elsewhere begins with; its address follows."""

_MEMBERS = ("name", "compares", "reversible", "open", "execute", "edited", "restarted", "close")


def make_backend(name: str, program: Program, cmodel_path: Path | None = None, token: str | None = None) -> Backend:
    """The backend for a program; BadInput if it is not known or its library is not there.

    ``cmodel_path``: where the vendor's libraries are; None: where they usually are. ``token``: for a backend
    elsewhere; None: that of the environment.
    """
    if (elsewhere := remote_address(name)) is not None:
        return _elsewhere(elsewhere, token)
    if name not in BACKENDS:
        return _of_plugin(name, program)
    chip = target_for(program.chip, str(program.context.bmodel))
    if name == "numpy":
        return InProcess(program.target)
    vendor = vendor_backend(chip, cmodel_path)
    return vendor if name == "cmodel" else in_lockstep(program.target, vendor)


def vendor_backend(chip: Chip, cmodel_path: Path | None = None) -> VendorBackend:
    """The vendor's simulator of a chip; BadInput where it is not there."""
    from tdb_dap.backends.cmodel import VendorBackend
    from tdb_dap.backends.discovery import library_of

    return VendorBackend(chip, library_of(chip, cmodel_path))


def in_lockstep(target: Target, vendor: VendorBackend) -> Backend:
    """The vendor's simulator compared with the target's own semantics."""
    from tdb_dap.backends.cmodel import Lockstep

    return Lockstep(InProcess(target), vendor)


def remote_address(name: str) -> tuple[str, int] | None:
    """Host and port of ``remote:HOST:PORT``; None for another name, BadInput for no address."""
    from tdb_dap.system.ports import address

    return address(name.removeprefix(REMOTE), f"backend {name}") if name.startswith(REMOTE) else None


def _elsewhere(address: tuple[str, int], token: str | None) -> Backend:
    from tdb_dap.backends.remote.client import RemoteDevice
    from tdb_dap.backends.remote.handshake import TOKEN_VARIABLE
    from tdb_dap.engine.device.device import Attached

    return Attached(RemoteDevice(*address, token or os.environ.get(TOKEN_VARIABLE)))


def _of_plugin(name: str, program: Program) -> Backend:
    """A backend that an installed package brings: what its entry point names is called with the program."""
    by_name = {plugin.name: plugin for plugin in plugins("backends")}
    if name not in by_name:
        raise BadInput(f"backend {name!r} is not known; there are {', '.join([*BACKENDS, *by_name])}, remote:HOST:PORT")
    plugin = by_name[name]
    if plugin.problem:
        raise BadInput(f"{plugin.title} {plugin.problem}")
    try:
        backend: Backend = plugin.loaded(program)
    except TdbError:
        raise
    except Exception as error:
        raise BadInput(f"{plugin.title}: {type(error).__name__}: {error}") from error
    missing = [member for member in _MEMBERS if not hasattr(backend, member)]
    if missing:
        raise BadInput(f"{plugin.title} gives no backend: a {type(backend).__name__} has no {', '.join(missing)}")
    return backend
