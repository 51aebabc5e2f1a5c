"""Plugins of installed packages: chips, backends, observers and console verbs, found by their entry points.

A plugin that cannot be loaded or that fails is named and left out; everything else goes on without it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
    if not _may_be_installed(tuple(sys.path)):
        return ()
    from importlib.metadata import entry_points

    return tuple(_load(group, entry) for entry in sorted(entry_points(group=PREFIX + group), key=lambda e: e.name))


@lru_cache(maxsize=len(GROUPS))
def _may_be_installed(folders: tuple[str, ...]) -> bool:
    """Whether some package names a group of ours; reading the metadata of all packages takes ten times as long."""
    for folder in folders:
        try:
            with os.scandir(folder or ".") as entries:
                packages = [(entry.name, entry.path) for entry in entries]
        except FileNotFoundError:
            continue
        except OSError:
            return True  # an archive, for instance: let it be read
        if any(_has_our_groups(path) for name, path in packages if name.endswith((".dist-info", ".egg-info", ".egg"))):
            return True
    return False


def _has_our_groups(path: str) -> bool:
    """Whether the metadata of a package has a group of ours; true for what is of an older form."""
    try:
        with open(os.path.join(path, "entry_points.txt"), "rb") as file:
            return b"[" + PREFIX.encode() in file.read()
    except FileNotFoundError:
        return path.endswith(".egg")
    except OSError:
        return True


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
