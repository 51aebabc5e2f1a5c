"""Exception filter: a check that can be switched on to stop where something goes wrong."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from tdb_dap.engine.control.observers import Observer


class Filter(Struct, frozen=True):
    """One check as the user sees it."""

    name: str
    label: str
    description: str
    make: Callable[[str | None], Observer]
    default: bool = False
    condition: str | None = None
    """What can be written to narrow it, if anything."""
    needs_reference: bool = False
    needs_lockstep: bool = False
    in_all: bool = False
    """Whether it is one of the sanitizers that ``all`` names."""
