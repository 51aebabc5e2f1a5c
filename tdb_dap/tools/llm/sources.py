"""The folders in which the converter has compiled each net."""

from __future__ import annotations

from pathlib import Path

from tdb_dap.tools.llm.language_model import LanguageModel

_DEEPEST = 3
"""Folders below the bmodel's that are searched for the sources of its nets."""

_MOST_FOLDERS = 4096


def sources_of(model: LanguageModel) -> dict[str, Path | None]:
    """The folder with final.mlir of each net, None where there is none: they lie beside the bmodel, by net.

    Several conversions may lie in one folder: what has the bmodel's name comes first.
    """
    bmodel = model.context.bmodel
    found: dict[str, Path | None] = dict.fromkeys(model.nets)
    stem = bmodel.name.removesuffix(".bmodel")
    folders = sorted(_inside(bmodel.parent), key=lambda entry: (not stem.startswith(entry.name), entry.name))
    for _ in range(_DEEPEST):
        inside: list[Path] = []
        for folder in folders[:_MOST_FOLDERS]:
            if folder.name in found and (folder / "final.mlir").exists():
                found[folder.name] = found[folder.name] or folder
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
