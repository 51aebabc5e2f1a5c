"""Observers that installed packages add to a debugger."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.control.observers import NEVER, Observer
from tdb_dap.system.plugins import Plugin, plugins

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.inspector import Inspector


class Guarded(Observer):
    """An observer of a plugin: what it raises is said once, with its name, and it is not called any more."""

    def __init__(self, plugin: Plugin, observer: Observer) -> None:
        self._plugin = plugin
        self._observer: Observer | None = observer
        self.looks_back = bool(getattr(observer, "looks_back", False))

    def _call(self, hook: str, inspector: Inspector, *subjects: Any) -> Any:
        if self._observer is None:
            return None
        try:
            return getattr(self._observer, hook)(inspector, *subjects)
        except Exception as error:
            self._observer = None
            inspector.listener.note(f"{self._plugin.title} is switched off: {hook}: {type(error).__name__}: {error}")
            return None

    def next_look(self, inspector: Inspector) -> int:
        if self._observer is None:
            return NEVER
        if not isinstance(self._observer, Observer):  # it need not have all hooks
            return inspector.ordinal
        look = self._call("next_look", inspector)
        return look if isinstance(look, int) else inspector.ordinal

    def watched(self, inspector: Inspector) -> NDArray[np.int8] | None:
        formats: NDArray[np.int8] | None = (
            self._call("watched", inspector) if isinstance(self._observer, Observer) else None
        )
        return formats

    def loaded(self, inspector: Inspector) -> None:
        self._call("loaded", inspector)

    def before_command(self, inspector: Inspector, command: Any) -> Any:
        return self._call("before_command", inspector, command)

    def after_command(self, inspector: Inspector, command: Any) -> Any:
        return self._call("after_command", inspector, command)

    def before_op(self, inspector: Inspector, record: Any) -> Any:
        return self._call("before_op", inspector, record)

    def after_op(self, inspector: Inspector, record: Any) -> Any:
        return self._call("after_op", inspector, record)

    def changed_after(self, inspector: Inspector, moment: int) -> None:
        self._call("changed_after", inspector, moment)

    def stopped(self, inspector: Inspector, stop: Any) -> None:
        self._call("stopped", inspector, stop)

    def finished(self, inspector: Inspector) -> None:
        self._call("finished", inspector)


def add_observers(debugger: Debugger) -> None:
    """Let the observers of plugins take part; each is made anew, by calling what its entry point names."""
    for plugin in plugins("observers"):
        make: Callable[[], Observer] | None = plugin.loaded
        if make is None:
            continue
        try:
            observer = make()
        except Exception as error:
            debugger.listener.note(f"{plugin.title} is switched off: {type(error).__name__}: {error}")
            continue
        guarded = Guarded(plugin, observer)
        debugger.observers.append(guarded)
        guarded.loaded(debugger.inspector)
