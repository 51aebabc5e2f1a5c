"""The folders in which the converter has compiled each net."""

from __future__ import annotations

from pathlib import Path

from tdb_dap.engine.files.context import Context
from tdb_dap.tools.llm.language_model import LanguageModel

_DEEPEST = 3
"""Folders below the bmodel's that are searched for the sources of its nets."""

_MOST_FOLDERS = 4096


def sources_of(model: LanguageModel) -> dict[str, Context | None]:
    """The files that each net was compiled with, None where there are none: they lie beside the bmodel, by net.

    Several conversions may lie in one folder: what has the bmodel's name comes first.
    """
    bmodel = model.context.bmodel
    found: dict[str, Context | None] = dict.fromkeys(model.nets)
    stem = bmodel.name.removesuffix(".xz").removesuffix(".bmodel")
    folders = sorted(_inside(bmodel.parent), key=lambda entry: (not stem.startswith(entry.name), entry.name))
    for _ in range(_DEEPEST):
        inside: list[Path] = []
        for folder in folders[:_MOST_FOLDERS]:
            context = Context.of_net(folder, bmodel) if folder.name in found else None
            if context is not None and context.mlir is not None:
                found[folder.name] = found[folder.name] or context
            else:
                inside += _inside(folder)
        folders = inside
    return found


def _inside(folder: Path) -> list[Path]:
    """Folders in a folder, by name; none where they cannot be listed."""
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return []
