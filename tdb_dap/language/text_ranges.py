"""A range of a text that a name refers to."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct


class TextRange(Struct, frozen=True):
    """A range of a line: line and columns from 0."""

    uri: str
    line: int
    start: int
    end: int


def uri_of(path: Path) -> str:
    """The ``file:`` URI of a file."""
    return path.absolute().as_uri()


def path_of(uri: str) -> Path:
    """The file of a ``file:`` URI; of others the path part."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if len(path) > 2 and path[0] == "/" and path[2] == ":":  # /c:/folder on Windows
        path = path[1:]
    return Path(path)
