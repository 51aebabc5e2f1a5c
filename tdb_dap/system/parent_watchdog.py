"""Parent watchdog: ends worker processes with the process that started them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext


class ParentWatchdog:
    """A silent pipe: its end in the workers reports that the end in the parent is closed, for any reason.

    ``worker``, with ``arguments``, is the initializer of a pool.
    """

    def __init__(self, context: BaseContext) -> None:
        self._theirs, self._ours = context.Pipe(duplex=False)
        # Copies of this process also get our end, and would hold it for each other.
        self.arguments = (self._theirs, self._ours if context.get_start_method() == "fork" else None)

    def end_workers(self) -> None:
        """End the workers now."""
        self._ours.close()
        self._theirs.close()

    @staticmethod
    def worker(theirs: Connection, ours: Connection | None) -> None:
        """End this process with its parent, which alone handles Ctrl-C."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if ours is not None:
            ours.close()
        threading.Thread(target=_end_with, args=(theirs,), daemon=True, name="tdb-dap parent watchdog").start()


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Inside, Ctrl-C is deferred; processes that are started here never receive it, not even during set-up."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(theirs: Connection) -> None:
    try:
        theirs.poll(None)
    finally:
        os._exit(1)
