"""Plugins of installed packages: chips, backends, observers and console verbs, found by their entry points.

A plugin that cannot be loaded or that fails is named and left out; everything else goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

PREFIX = "tdb_dap."
GROUPS = {
    "targets": "chips",
    "backends": "simulators and boards",
    "observers": "called for every command and op",
    "console_commands": "verbs of the console",
}
"""Last part of an entry-point group -> what its plugins are."""


@dataclass(frozen=True)
class Plugin:
    """One entry point. ``loaded``: the object that it names, None if ``problem`` says why it could not be loaded."""

    group: str
    name: str
    value: str
    package: str
    version: str
    loaded: Any
    problem: str = ""

    @property
    def title(self) -> str:
        return f"plugin {self.name!r} ({self.value}, {self.package} {self.version})"


@lru_cache(maxsize=len(GROUPS))
def plugins(group: str) -> tuple[Plugin, ...]:
    """The plugins of a group, by name; loaded once."""
    return tuple(_load(group, entry) for entry in sorted(entry_points(group=PREFIX + group), key=lambda e: e.name))


def _load(group: str, entry: EntryPoint) -> Plugin:
    package = entry.dist.name if entry.dist is not None else "?"
    version = entry.dist.version if entry.dist is not None else "?"
    about = (group, entry.name, entry.value, package, version)
    try:
        return Plugin(*about, entry.load())
    except Exception as error:
        return Plugin(*about, None, f"cannot be loaded: {type(error).__name__}: {error}")


def problems() -> Iterator[str]:
    """Problems of plugins, a line each."""
    for group in GROUPS:
        yield from (f"{plugin.title} {plugin.problem}" for plugin in plugins(group) if plugin.problem)
