"""Limits of the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAGE = 4096


@contextmanager
def address_space(more: int = 512 << 20) -> Iterator[None]:
    """Inside, this process may take ``more`` bytes than it has; no limit where the system has none."""
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE
    except (ImportError, OSError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
