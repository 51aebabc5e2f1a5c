"""The path that most names of a function begin with: ``model.layers.7.`` says nothing in the net of that layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tdb_dap.system.patterns import pattern

_BORDER = pattern(r"[/._:-]+")
_LOADED = "load_"
"""What the compiler puts before the name of a tensor that is loaded."""

_MOST = 0.5
"""Share of the names: others are of constants, or made by the compiler."""

_FEWEST = 4
"""Names from which on a path can be common."""

_WORTHWHILE = 8
"""Letters that are worth dropping."""


def common_path(names: Iterable[str]) -> str:
    """The longest path, up to a border of words, that most names begin with; empty where it is short."""
    left = [name.removeprefix(_LOADED) for name in names]
    needed = max(_FEWEST, _MOST * len(left))
    path = ""
    while True:
        longer = Counter(name[: match.end()] for name in left if (match := _BORDER.search(name, len(path))) is not None)
        candidate, count = max(longer.items(), key=lambda item: item[1], default=("", 0))
        if count < needed:
            return path if len(path) >= _WORTHWHILE else ""
        path = candidate
        left = [name for name in left if name.startswith(path)]


def without_path(name: str, path: str) -> str:
    """A name with ``…`` in the place of the path, and of what the compiler puts before it."""
    rest = name.removeprefix(_LOADED)
    return f"…{rest.removeprefix(path)}" if path and rest.startswith(path) and rest != path else name
