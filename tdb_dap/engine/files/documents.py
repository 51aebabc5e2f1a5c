"""Plain data that people write: YAML or JSON."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput

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
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        raise BadInput(f"{where}: is no YAML: {getattr(error, 'problem', None) or error}") from None
