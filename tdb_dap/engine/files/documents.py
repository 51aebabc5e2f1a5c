"""Plain data that people write: YAML or JSON."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput

_FREELY = 100_000
"""Values that aliases may repeat, beyond one for each byte of the file."""

SUFFIXES = (".yaml", ".yml", ".json")


def read_document(path: Path, most: int) -> Any:
    """The data of a file of at most ``most`` bytes, by its suffix; BadInput says in which line it is broken."""
    text = bytes(read_file(path, most)).decode("utf-8", "replace")
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path}: is no JSON: {error}") from None
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise BadInput(f"{path}: reading YAML needs PyYAML; pip install pyyaml, or write JSON") from None
    try:
        return _loaded(path, text, yaml.SafeLoader(text))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        raise BadInput(f"{where}: is no YAML: {getattr(error, 'problem', None) or error}") from None


def _loaded(path: Path, text: str, loader: Any) -> Any:
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > _FREELY + len(text):
            raise BadInput(f"{path}: its aliases (*name) repeat more than it holds; write it out, or fewer of them")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _size(node: Any, sizes: dict[int, int]) -> int:
    """Values in a tree of YAML with its aliases written out; ValueError for one that contains itself.

    ``sizes``: those of the nodes that are known, 0 of one that is being counted.
    """
    size = sizes.get(id(node))
    if size == 0:
        raise ValueError("an alias stands inside of what it repeats")
    if size is None:
        sizes[id(node)] = 0
        parts = node.value if isinstance(node.value, list) else []
        flat = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
        size = sizes[id(node)] = 1 + sum(_size(one, sizes) for one in flat)
    return size
