"""The modules of the adapter that are imported after ``initialize`` is answered, while the client still thinks."""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Iterator

from tdb_dap.errors import TdbError, sentence

AREAS = (
    "greeting",
    "lifecycle",
    "launch",
    "requests.sources",
    "requests.breakpoints",
    "requests.stepping",
    "requests.stack_trace",
    "requests.variables",
    "requests.memory",
    "extensions.tensors",
    "extensions.history",
    "requests.modules",
    "console.running",
    "console.breakpoints",
    "console.explaining",
    "console.inspecting",
    "extensions.memory_values",
    "extensions.model_views",
    "extensions.profile",
    "extensions.model_contents",
    "console.completions",
    "console.evaluate",
    "requests.exception_breakpoints",
    "requests.disassemble",
    "requests.goto",
    "requests.data_breakpoints",
    "requests.set_variable",
    "requests.provenance",
    "extensions.inline_values",
    "extensions.timeline",
    "console.time_travel",
    "console.asking",
    "extensions.traces",
    "console.checking",
    "console.frames",
    "console.session",
    "requests.sanitizers",
    "console.sanitizing",
    "extensions.answers",
    "extensions.attached_sessions",
)
"""Modules that declare requests, and verbs of the console; `help` lists those in this order."""


def load() -> None:
    """Import all of them, once; TdbError if a package is missing."""
    try:
        for area in AREAS:
            importlib.import_module(f"tdb_dap.adapter.{area}")
    except ImportError as error:
        raise TdbError(sentence(error)) from error


def load_ahead() -> None:
    """Import them, and what launching needs. The thread of the session does it, so no two threads import at once."""
    with contextlib.suppress(TdbError), _no_garbage():  # the next request is answered with the error
        load()
        importlib.import_module("tdb_dap.tools.opening")
        if not gc.get_freeze_count():
            gc.freeze()  # a search for garbage in what stays would take 40 ms, in the middle of an answer


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Not searching for garbage while modules are imported saves a tenth of the time: what they make stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
