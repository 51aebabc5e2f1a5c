"""Observers that installed packages add to a debugger."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.control.observers import Observer
from tdb_dap.system.plugins import Plugin, plugins

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger


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
