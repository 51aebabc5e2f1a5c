"""What installed packages add: chips, backends, observers and console verbs, found by their entry points.

A plugin that cannot be loaded or that fails is named and left out; everything else goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.observers import Observer

if TYPE_CHECKING:
    from tdb_dap.engine.debugger import Debugger

PREFIX = "tdb_dap."
GROUPS = {
    "targets": "chips",
    "backends": "who executes",
    "observers": "told of every command and op",
    "commands": "verbs of the console",
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
    """What is wrong with plugins, a line each."""
    for group in GROUPS:
        yield from (f"{plugin.title} {plugin.problem}" for plugin in plugins(group) if plugin.problem)


class Guarded(Observer):
    """An observer of a plugin: what it raises is said once, with its name, and it is not called any more."""

    def __init__(self, plugin: Plugin, observer: Observer) -> None:
        self._plugin = plugin
        self._observer: Observer | None = observer
        self.looks_back = bool(getattr(observer, "looks_back", False))

    def _call(self, hook: str, debugger: Debugger, *subjects: Any) -> Any:
        if self._observer is None:
            return None
        try:
            return getattr(self._observer, hook)(debugger, *subjects)
        except Exception as error:
            self._observer = None
            debugger.say(f"{self._plugin.title} is switched off: {hook}: {type(error).__name__}: {error}")
            return None

    def loaded(self, debugger: Debugger) -> None:
        self._call("loaded", debugger)

    def before_command(self, debugger: Debugger, command: Any) -> Any:
        return self._call("before_command", debugger, command)

    def after_command(self, debugger: Debugger, command: Any) -> Any:
        return self._call("after_command", debugger, command)

    def before_op(self, debugger: Debugger, record: Any) -> Any:
        return self._call("before_op", debugger, record)

    def after_op(self, debugger: Debugger, record: Any) -> Any:
        return self._call("after_op", debugger, record)

    def changed_after(self, debugger: Debugger, moment: int) -> None:
        self._call("changed_after", debugger, moment)

    def stopped(self, debugger: Debugger, stop: Any) -> None:
        self._call("stopped", debugger, stop)

    def finished(self, debugger: Debugger) -> None:
        self._call("finished", debugger)


def add_observers(debugger: Debugger) -> None:
    """Let the observers of plugins take part; each is made anew, by calling what its entry point names."""
    for plugin in plugins("observers"):
        make: Callable[[], Observer] | None = plugin.loaded
        if make is None:
            continue
        try:
            observer = make()
        except Exception as error:
            debugger.say(f"{plugin.title} is switched off: {type(error).__name__}: {error}")
            continue
        guarded = Guarded(plugin, observer)
        debugger.observers.append(guarded)
        guarded.loaded(debugger)
