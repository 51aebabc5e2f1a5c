"""Advice for the folders of the converter of language models, in which the nets are judged together."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.llm.language_model import is_language_model

_NET = re.compile(
    r"(?:block|block_cache|block_kv)_\d+(?:_\d+)?|lm_head|embedding(?:_cache)?|greedy_head|sample_head|vit"
)
_MOST_ENTRIES = 4096
_HIGHEST = 2
"""Folders above a net's that are searched for the model."""


def converted(given: Path) -> Path | None:
    """The folder of the converter's bmodel that a folder belongs to: itself, or one above a net's; None if none."""
    path = given.expanduser()
    folder = path if path.is_dir() else path.parent
    has_nets = _NET.fullmatch(folder.resolve().name) is not None or len(_nets_in(folder)) > 1
    for above in [folder.resolve(), *(folder.resolve().parents if has_nets else ())][: _HIGHEST + 2]:
        if any(_is_model(model) for model in _models_in(above)):
            return above
    return None


def advice(folder: Path) -> str:
    """Commands that judge the language model in a folder."""
    return (
        "a language model of llm_convert: its nets are judged together, by "
        f"tdb-dap llm {shlex.quote(str(folder))} --ids 1,2,3 "
        "--reference HF_DIR; weights alone: tdb-dap weights, with the same --reference"
    )


def _nets_in(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if _NET.fullmatch(entry.name) and entry.is_dir()]


def _models_in(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if entry.name.endswith((".bmodel", ".bmodel.xz"))]


def _entries(folder: Path) -> list[Path]:
    try:
        return [entry for _, entry in zip(range(_MOST_ENTRIES), sorted(folder.iterdir()), strict=False)]
    except OSError:
        return []


def _is_model(path: Path) -> bool:
    try:
        return is_language_model(net.name for net in Bmodel(path).metadata.nets)
    except (BadInput, TdbError):
        return False
