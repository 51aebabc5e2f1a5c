"""Names and patterns of names."""

from __future__ import annotations

from fnmatch import fnmatchcase


def fits(name: str, pattern: str) -> bool:
    """Whether a tensor's name is meant; names may hold brackets, which mean something else in patterns."""
    return name == pattern or fnmatchcase(name, pattern)
