"""Tokens that end a completion, as the files next to a model name them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput

_FILES = ("generation_config.json", "config.json")
_PLACES = (".", "config")


def stop_tokens(folders: Sequence[Path]) -> frozenset[int]:
    """``eos_token_id`` of the first file that has one; none where no file is there. BadInput for a damaged one."""
    for folder in folders:
        for path in (folder / place / name for place in _PLACES for name in _FILES):
            if path.is_file() and (ids := _read(path)):
                return ids
    return frozenset()


def _read(path: Path) -> frozenset[int]:
    try:
        config: Any = json.loads(read_file(path, limits.REPORT))
        inner = [config, *(one for one in config.values() if isinstance(one, dict))]
        given: Any = next((one["eos_token_id"] for one in inner if one.get("eos_token_id") is not None), [])
        return frozenset(int(one) for one in (given if isinstance(given, list) else [given]))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be used: {error}") from None
